import { describe, expect, it } from "vitest";
import { threadTitle } from "../../packages/web/chat/thread-row.ts";
import { type StripState, stripLine } from "../../packages/web/chat/composer/status.ts";
import { groupThreads } from "../../packages/web/app/sidebar/groups.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const QUIET: StripState = {
  online: true,
  connection: {},
  running: false,
  seconds: 0,
  tools: 0,
  at: undefined,
  waiting: 0,
  error: undefined,
  unfinished: false,
  branch: undefined,
  now: NOW,
};

describe("the strip", () => {
  it("is empty when nothing is to be said", () => {
    expect(stripLine(QUIET)).toEqual({ tone: "plain", text: "", actions: [] });
  });

  it("does not show a loss shorter than 2.5 s", () => {
    const lost = { ...QUIET, running: true, seconds: 3, connection: { lostAt: NOW - 2_000, nextTryAt: NOW + 500 } };
    expect(stripLine(lost).text).toBe("Running · 3 s");
    const longer = { ...lost, connection: { lostAt: NOW - 3_000, nextTryAt: NOW + 1_500, attempt: 2 } };
    expect(stripLine(longer)).toMatchObject({
      tone: "lost",
      text: "Connection lost. Retrying in 2 s (attempt 2). The run continues on the server.",
      actions: ["reconnect"],
    });
  });

  it("puts a decision before an old error, and a run before both", () => {
    const all = { ...QUIET, waiting: 2, error: "boom\nat x" };
    expect(stripLine(all)).toMatchObject({ tone: "waiting", text: "Waiting for you · 2 decisions" });
    expect(stripLine({ ...all, running: true, at: "search", tools: 1 }).text).toBe("Running · search · 0 s · 1 tool");
    expect(stripLine({ ...all, waiting: 0 })).toMatchObject({
      text: "The last run failed",
      actions: ["retry", "copy"],
    });
  });

  it("continues a graph that has not finished, but not one that waits for a decision", () => {
    const stopped = { ...QUIET, unfinished: true };
    expect(stripLine(stopped)).toEqual({ tone: "plain", text: "The graph has not finished", actions: ["continue"] });
    expect(stripLine({ ...stopped, waiting: 1 }).actions).toEqual(["show"]);
  });
});

describe("the list of threads", () => {
  const thread = (id: string, status: "idle" | "busy" | "interrupted", updated: string) => ({
    thread_id: id,
    status,
    created_at: updated,
    updated_at: updated,
  });

  it("puts what waits first, then what runs, then the days", () => {
    const groups = groupThreads(
      [
        thread("1", "idle", "2026-11-20T11:59:00Z"),
        thread("2", "busy", "2026-11-20T11:00:00Z"),
        thread("3", "interrupted", "2026-09-01T00:00:00Z"),
        thread("4", "idle", "2026-11-19T11:00:00Z"),
      ],
      NOW,
    );
    expect(groups.map((group) => [group.name, group.threads.map((one) => one.thread_id)])).toEqual([
      ["Waiting for you", ["3"]],
      ["Running", ["2"]],
      ["Today", ["1"]],
      ["Yesterday", ["4"]],
    ]);
  });

  it("does not call a stopped thread waiting", () => {
    const stopped = { ...thread("1", "interrupted", "2026-11-20T11:59:00Z"), interrupts: { t: [] } };
    expect(groupThreads([stopped], NOW)[0]?.name).toBe("Today");
    const asked = { ...stopped, interrupts: { t: [{ id: "i" }] } };
    expect(groupThreads([asked], NOW)[0]?.name).toBe("Waiting for you");
  });

  it("calls a thread by its title, else by its first words", () => {
    const row = thread("1", "idle", "2026-11-20T11:59:00Z");
    expect(threadTitle(row)).toBe("Untitled thread");
    expect(threadTitle(undefined)).toBe("Thread");
    expect(threadTitle({ ...row, values: { messages: [{ content: "Read by itself" }] } })).toBe("Read by itself");
    for (const messages of [undefined, [], [null], "text"]) {
      expect(threadTitle({ ...row, values: { messages } })).toBe("Untitled thread");
    }
    expect(threadTitle({ ...row, extracted: { first: " Refund\n order " } })).toBe("Refund order");
    expect(threadTitle({ ...row, metadata: { title: "Mine" }, extracted: { first: "x" } })).toBe("Mine");
  });
});
