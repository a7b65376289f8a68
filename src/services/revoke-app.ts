import { markRevoked } from "../store/directory/apps.ts";
import type { AppDesk } from "./app-desk.ts";

/** Revokes an app for good: none of its secrets verifies from here on. False when there is no such app. */
export async function revokeApp(desk: AppDesk, appid: string): Promise<boolean> {
  if (!(await markRevoked(desk.db, appid, desk.by))) return false;
  desk.forget(appid);
  return true;
}
