/** What the gate asks of an operation of src/operations/index.ts. */
interface Listed {
  wireName: string;
  refusals: object;
}

/** What the simulation counts of each operation, in words of its own: docs/simulation.md, "What has to happen". */
export const operationNames = (operations: readonly Listed[]): string[] =>
  operations.flatMap(({ wireName, refusals }) => [
    `${wireName} accepted`,
    `${wireName} repeated`,
    ...[...Object.keys(refusals), "key_reused"].map((refusal) => `${wireName} refused: ${refusal}`),
  ]);
