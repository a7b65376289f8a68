/** The part of an operation of src/operations/index.ts that the gate reads. */
interface Listed {
  wireName: string;
  refusals: object;
}

/** The names under which the simulation counts each operation: docs/simulation.md, "What has to happen". */
export const operationNames = (operations: readonly Listed[]): string[] =>
  operations.flatMap(({ wireName, refusals }) => [
    `${wireName} accepted`,
    `${wireName} repeated`,
    ...[...Object.keys(refusals), "key_reused"].map((refusal) => `${wireName} refused: ${refusal}`),
  ]);
