/** What the pages of runs, crons and the Store work out by themselves. */
import { describe, expect, it } from "vitest";
import { toBody, toDraft, newDraft } from "../../packages/web/console/crons/draft.ts";
import type { Cron, Firing } from "../../src/automation/crons/wire.ts";
import { byCron, isFailure, cronStatus } from "../../packages/web/console/crons/firing.ts";
import { describeWait, findCron, type OpenRun, splitRuns } from "../../packages/web/console/runs/open.ts";
import {
  formatAddress,
  listChildren,
  parseLabels,
  parseLocation,
  previewValue,
} from "../../packages/web/console/store/path.ts";
import { untilText } from "../../packages/web/ui/days.ts";

const NOW = Date.parse("2026-11-20T10:00:00Z");

describe("open runs", () => {
  const run = (run_id: string, thread_id: string, status: OpenRun["status"], later = 0): OpenRun => {
    const created_at = new Date(NOW + later).toISOString();
    return {
      run_id,
      thread_id,
      status,
      assistant_id: "a",
      created_at,
      updated_at: created_at,
      metadata: {},
      attempt: 0,
    };
  };

  it("are split into those that run, and queues by thread", () => {
    const split = splitRuns(
      [run("1", "t", "running"), run("2", "t", "pending"), run("3", "u", "pending", 1), run("4", "t", "pending")],
      NOW,
    );
    expect(split.running.map(({ run_id }) => run_id)).toEqual(["1"]);
    expect(split.queued.map(({ run_id, place, due }) => [run_id, place, due])).toEqual([
      ["2", 1, true],
      ["3", 1, false],
      ["4", 2, true],
    ]);
  });

  it("say what they wait for", () => {
    const [own, later] = splitRuns([run("1", "t", "pending"), run("2", "t", "pending", 1)], NOW).queued;
    expect([describeWait(own!), describeWait(later!)]).toEqual(["the run before it", "its time"]);
    const waiting_for = [{ rule: "per-user", key: "ada", reason: "concurrency" }];
    expect(describeWait({ ...own!, waiting_for })).toBe("per-user · ada: no free slot");
    expect(describeWait({ ...own!, waiting_for: [] })).toBe("its turn");
  });

  it("name the cron that started them", () => {
    expect(findCron(run("1", "t", "running"))).toBeUndefined();
    expect(findCron({ ...run("1", "t", "running"), metadata: { cron_id: "c" } })).toBe("c");
  });
});

describe("crons", () => {
  it.each([
    [30_000, "now"],
    [5 * 60_000, "in 5 min"],
    [5 * 3_600_000, "in 5 h"],
    [23.9 * 3_600_000, "in 23 h"],
  ])("are due in %i ms: %s", (left, text) => {
    expect(untilText(new Date(NOW + left).toISOString(), NOW)).toBe(text);
  });

  it("are due on a weekday within six days, later on a date", () => {
    expect(untilText(new Date(NOW + 3 * 86_400_000).toISOString(), NOW)).toMatch(/^Mon/);
    expect(untilText(new Date(NOW + 20 * 86_400_000).toISOString(), NOW)).toContain("2026");
  });

  it("are active, paused or over", () => {
    const next = new Date(NOW).toISOString();
    expect(cronStatus({ enabled: true, next_run_date: next })).toBe("active");
    expect(cronStatus({ enabled: false, next_run_date: null })).toBe("paused");
    expect(cronStatus({ enabled: true, next_run_date: null })).toBe("over");
  });

  it("have their firings, and those that failed or were not started count as failures", () => {
    const createFiring = (cron_id: string, state: Firing["state"]): Firing => ({
      cron_id,
      state,
      error: null,
      due: "",
      thread_id: "",
      run_id: "",
    });
    const all = [
      createFiring("a", "failed"),
      createFiring("b", "ended"),
      createFiring("a", "refused"),
      createFiring("a", "running"),
    ];
    const found = byCron(all);
    expect([...found.keys()]).toEqual(["a", "b"]);
    expect(found.get("a")?.filter(isFailure)).toHaveLength(2);
  });

  it("go through the form unchanged", () => {
    const cron: Cron = {
      cron_id: "c",
      assistant_id: "a",
      thread_id: null,
      on_run_completed: "keep",
      schedule: "0 9 * * 1",
      timezone: null,
      end_time: "2999-01-01T00:00:00.000Z",
      next_run_date: null,
      enabled: true,
      user_id: null,
      payload: { input: { a: [1] } },
      metadata: {},
      created_at: "",
      updated_at: "",
    };
    const { schedule, end_time, on_run_completed } = cron;
    const body = { schedule, end_time, on_run_completed, timezone: "UTC", input: { a: [1] } };
    expect(toBody(toDraft(cron))).toEqual(body);
    const onThread = toDraft({ ...cron, thread_id: "t", on_run_completed: null });
    expect(onThread.threadChoice).toBe("thread");
    expect(toBody(onThread)).not.toHaveProperty("on_run_completed");
  });

  it("say what is wrong with their input", () => {
    expect(() => toBody({ ...newDraft("a"), input: "{" })).toThrow("The input is no JSON");
  });
});

describe("places of the Store", () => {
  it.each([
    "/console/store",
    "/console/store?in=users&in=a%2Fb",
    "/console/store?in=users&key=k",
    "/console/store?in=users&query=two+words&key=k&of=users&of=ada",
    "/console/store?new=1",
  ])("%s is read and written", (address) => {
    expect(formatAddress(parseLocation(new URL(address, "https://weir.test").searchParams))).toBe(address);
  });

  it("lists the labels one level below", () => {
    const namespaces = [["users"], ["users", "b10"], ["users", "b9"], ["knowledge", "x"], ["users", "b9", "deep"]];
    expect(listChildren(namespaces, ["users"])).toEqual(["b9", "b10"]);
    expect(listChildren([["users"], ["knowledge"]], [])).toEqual(["knowledge", "users"]);
  });

  it("reads the labels that a person typed", () => {
    expect(parseLabels(" users / ada ")).toEqual(["users", "ada"]);
    expect(parseLabels(" / ")).toBeUndefined();
  });

  it("shows a value in one line", () => {
    expect(previewValue({ text: "two\n lines" })).toBe("two lines");
    expect(previewValue({ name: "Ada", likes: ["chess"] })).toBe('name: Ada · likes: ["chess"]');
    expect(previewValue({ text: "x".repeat(500) })).toHaveLength(161);
  });
});
