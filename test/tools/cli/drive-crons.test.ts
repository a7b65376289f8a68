import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { unstable_readConfig } from "wrangler";
import { driveCrons, dueCrons, minutesOf } from "../../../src/tools/cli/drive-crons.ts";
import { eventually } from "../../support/eventually.ts";

const MINUTE_MS = 100;

const CRONS = ["* * * * *", "*/5 * * * *", "0 3 * * *"];

describe("the crons of npm start", () => {
  it.each([
    [0, ["* * * * *"]],
    [1, ["* * * * *"]],
    [4, ["* * * * *"]],
    [5, ["* * * * *", "*/5 * * * *"]],
    [10, ["* * * * *", "*/5 * * * *"]],
  ])("the crons of npm start that are due %i minutes after the start are %j", (minute, due) => {
    expect(dueCrons(minute, CRONS)).toEqual(due);
  });

  it("npm start runs all crons of wrangler.toml", () => {
    const config = join(import.meta.dirname, "../../../wrangler.toml");
    const { triggers } = unstable_readConfig({ config, env: "" }, { hideWarnings: true });
    expect(triggers.crons).toEqual(CRONS.slice(0, 2));
    expect(triggers.crons?.map(minutesOf)).toEqual([1, 5]);
  });

  it.each(["0 3 * * *", "*/0 * * * *", "*/5 3 * * *", "5 * * * *", ""])(
    "the driver of the crons refuses a cron of the form %j",
    (cron) => {
      expect(minutesOf(cron)).toBe(undefined);
    },
  );
});

describe("the driver of the crons", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Drives the crons of a server that replaces wrangler's. Its minute is short, but long enough for a busy machine. */
  async function drive(statuses: number[]) {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${request.headers.host} ${request.url}`);
      response.writeHead(statuses.shift() ?? 200).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const consoleError = vi.spyOn(console, "error").mockImplementation(() => {});
    const controller = new AbortController();
    const { port } = server.address() as AddressInfo;
    const done = driveCrons(CRONS, { protocol: "http", host: "127.0.0.1", port }, controller.signal, MINUTE_MS);
    return {
      requests,
      consoleError,
      async end() {
        controller.abort();
        await done;
        // This waits for requests in flight.
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  it("the driver of the crons runs the crons of each minute immediately, runs others when they are due, and ends when it is stopped", async () => {
    const { requests, consoleError, end } = await drive([]);
    await eventually(() => expect(requests.length).toBeGreaterThan(6));
    await end();
    const number = requests.length;
    const each = "localhost /cdn-cgi/handler/scheduled?cron=*%20*%20*%20*%20*";
    expect(requests.slice(0, 5)).toEqual(Array(5).fill(each));
    expect(requests.slice(5, 7).toSorted()).toEqual([each, each.replace("*%20", "*%2F5%20")].toSorted());
    await new Promise((resolve) => setTimeout(resolve, 2 * MINUTE_MS));
    expect(requests).toHaveLength(number);
    expect(consoleError).not.toHaveBeenCalled();
  });

  it("the driver of the crons does not report two failures in a row, and reports the third once", async () => {
    const { requests, consoleError, end } = await drive([500, 500, 200, 500, 500, 500, 500, 500]);
    await eventually(() => expect(requests.length).toBeGreaterThan(3));
    expect(consoleError).not.toHaveBeenCalled();
    await eventually(() => expect(requests.length).toBeGreaterThan(9));
    await end();
    expect(consoleError.mock.calls).toEqual([
      [expect.stringMatching(/^The crons have failed 3 times in a row: .* status 500/)],
    ]);
  });
});
