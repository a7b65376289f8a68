/** The signed operations by their names on the wire. By hand, because the client's package has nothing of the Worker in it. */
export const OPERATION_NAMES = ["create_gd", "add_kf"] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** Where an operation is, below the address of the service. */
export const pathOf = (operation: OperationName): string => `/openapi/chat/${operation}`;
