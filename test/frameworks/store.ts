import { writeFileSync } from "node:fs";

/** Stores an event in the folder SEEN. It does nothing when the folder has the id already. @throws Error when it cannot store */
export async function store(id: string, body: Buffer): Promise<void> {
  try {
    writeFileSync(`${process.env.SEEN}/${id}.json`, body, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
