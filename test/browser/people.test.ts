/* biome-ignore-all lint/performance/useDomNodeTextContent: the tests compare the text that a reader sees. */
import { describe, expect } from "vitest";
import { PHONE, signIn } from "../support/open-browser.ts";
import { it } from "./it.ts";
import { SCRIPT_MODES } from "./script-modes.ts";
import { heading, press, status, unfold } from "./steps.ts";

const PATH = "/console/people";

describe("people", () => {
  it.for(SCRIPT_MODES)(
    "somebody who is let in signs in with the token of the page, and is signed out when their access ends, %s",
    async ([name, javaScriptEnabled], { worker, signedIn, open }) => {
      const owner = await signedIn(worker, { javaScriptEnabled });
      await owner.goto(PATH);
      await unfold(owner, "Let somebody in");
      await owner.getByLabel("Name", { exact: true }).fill(`Mei ${name}`);
      await owner.getByRole("button", { name: "Let them in" }).dblclick();
      await owner.locator("#token, .notice.bad").first().waitFor();
      // After a double click the browser may show the answer of the second click, which does not have the token.
      const { items } = await worker.admin<{ items: { name: string }[] }>("GET", "/admin/people?limit=100");
      expect(items.filter((each) => each.name === `Mei ${name}`)).toHaveLength(1);
      await owner.goto(PATH);
      await unfold(owner, "Let somebody in");
      await owner.getByLabel("Name", { exact: true }).fill(`Noor ${name}`);
      await press(owner, "Let them in");
      const token = await owner.locator("#token").innerText();

      const person = await open(worker, { javaScriptEnabled, viewport: PHONE });
      await signIn(person, token);
      expect(await heading(person)).toBe("Sites");
      await person.goto("/console/homes/main/restored");
      expect(await heading(person)).toBe("Your role does not allow this");

      await owner.goto(PATH);
      const row = owner.locator("tr", { hasText: `Noor ${name}` });
      await row.locator("details.menu > summary").click();
      await row.getByRole("link", { name: "End" }).click();
      await press(owner, "End the access");
      expect(await status(owner)).toBe("Their access has ended, and they are signed out.");
      await person.goto("/console");
      expect(await heading(person)).toBe("Sign in to the console");
    },
  );
});
