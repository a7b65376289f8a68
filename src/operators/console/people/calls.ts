import type { ConsoleCall } from "../env.ts";
import { form, page } from "../page-call.ts";
import { endPersonPage, peoplePage, postEndPerson, postPeople } from "./people-page.tsx";

export const PEOPLE_CALLS: ConsoleCall[] = [
  page("owner", "/people", peoplePage),
  form("owner", "/people", ["person.added"], postPeople),
  page("owner", "/people/:person_id/end", endPersonPage),
  form("owner", "/people/:person_id/end", ["person.ended", "operator.session_ended"], postEndPerson),
];
