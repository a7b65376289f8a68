import { insertRows, pick, range } from "./rows.ts";

export interface SeededAgent {
  id: number;
  name: string;
}

const FIRST = ["Amara", "Jonas", "Priya", "Ana", "Ben", "Chiara", "Dmitri", "Elif", "Farid", "Grace", "Hiro", "Ines"];
const LAST = ["Okafor", "Lindqvist", "Raman", "Souza", "Achterberg", "Rossi", "Volkov", "Yılmaz", "Haddad", "Mwangi"];
const OTHERS = [
  "林晓雯",
  "王芳",
  "محمد علي",
  "Bartholomew-Montgomery Featherstonehaugh of the Night Shift",
  "李",
  "🦊 Fox",
];

/** Makes 150 agents of a site, one in eight disabled. @returns the enabled ones */
export async function seedAgents(db: D1Database, siteId: number): Promise<SeededAgent[]> {
  const agents = range(150).map((index) => ({
    site_id: siteId,
    id: 10_401 + index,
    status: index % 8 === 7 ? "disabled" : "normal",
    name:
      index % 9 === 4
        ? pick(OTHERS, Math.floor(index / 9))
        : `${pick(FIRST, index)} ${pick(LAST, index * 3 + (index >> 5))}`,
  }));
  await insertRows(db, "agents", agents);
  return agents.filter(({ status }) => status === "normal");
}
