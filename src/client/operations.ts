/** The wire names of the signed operations. This list is written by hand, because the client's package imports nothing of the Worker. */
export const OPERATION_NAMES = ["create_gd", "add_kf"] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** The path of an operation, after the address of the service. */
export const pathOf = (operation: OperationName): string => `/openapi/chat/${operation}`;
