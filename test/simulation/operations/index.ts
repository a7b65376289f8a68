import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { OperationModel } from "./shared/model.ts";

const FILES = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".ts") && file !== "index.ts");

/** The models of all signed operations. Each other file of this folder has one, under the file's name. */
export const MODELS: readonly OperationModel[] = await Promise.all(
  FILES.sort().map(async (file) => {
    const { default: model } = (await import(join(import.meta.dirname, file))) as { default: OperationModel };
    return model;
  }),
);

/** @returns undefined for a path that no operation has */
export const modelAt = (path: string): OperationModel | undefined =>
  MODELS.find(({ wireName }) => path === `/openapi/chat/${wireName}`);

export const CALLS_EVENT_TYPES: readonly string[] = MODELS.map(({ event }) => event.type);
