/** The words and figures of the console's pages of Operate and Admin. */
import { describe, expect, it } from "vitest";
import type { AuditAction } from "../../src/access/audit/store.ts";
import { ACTIONS, actionText, actorText, isRefusal, targetText } from "../../packages/web/console/audit/actions.ts";
import { expiryTime, expiryText, parseNetworks } from "../../packages/web/console/keys/expiry.ts";
import { clientName, returnsTo } from "../../packages/web/console/oauth/labels.ts";
import { byDay, byProject, findDays, forecastMonth } from "../../packages/web/console/usage/metrics.ts";
import { bytesText } from "../../packages/web/ui/format.ts";

const NOW = Date.parse("2026-11-22T12:00:00Z");

describe("keys", () => {
  it("say when they end", () => {
    const addMs = (ms: number) => new Date(NOW + ms).toISOString();
    const texts = [
      null,
      addMs(-1),
      addMs(60_000),
      addMs(5 * 3_600_000),
      addMs(47 * 3_600_000),
      addMs(30.5 * 86_400_000),
    ];
    expect(texts.map((at) => expiryText(at, NOW))).toEqual([
      "never",
      "expired",
      "in under 1 h",
      "in 5 h",
      "in 47 h",
      "in 30 days",
    ]);
    expect([expiryTime("never", NOW), expiryTime("30", NOW)]).toEqual([null, "2026-12-22T12:00:00.000Z"]);
  });

  it("take networks with commas, spaces and lines between them", () => {
    expect(parseNetworks(" 192.0.2.0/24,2001:db8::/48\n198.51.100.7 ")).toEqual([
      "192.0.2.0/24",
      "2001:db8::/48",
      "198.51.100.7",
    ]);
    expect(parseNetworks(" , ")).toBeNull();
  });
});

describe("the audit log", () => {
  // The type makes this list complete.
  const EVERY: Record<AuditAction, boolean> = {
    "sign_in.succeeded": false,
    "sign_in.failed": true,
    "credential.refused": true,
    "admin_key.used": false,
    "audit_log.exported": false,
    "workspace.created": false,
    "api_key.created": false,
    "api_key.updated": false,
    "api_key.rolled": false,
    "api_key.deleted": false,
    "api_key.ended": false,
    "role.updated": false,
    "role.deleted": false,
    "member.added": false,
    "member.updated": false,
    "member.removed": false,
    "invitation.created": false,
    "invitation.deleted": false,
    "invitation.accepted": false,
    "session.ended": false,
    "webhook_secret.created": false,
    "webhook_secret.deleted": false,
    "client.registered": false,
    "grant.created": false,
    "grant.denied": true,
    "grant.refused": true,
    "grant.revoked": false,
    "grant.reuse_detected": true,
    "destination.created": false,
    "destination.updated": false,
    "destination.deleted": false,
    "destination.checked": false,
    "trace.shared": false,
    "trace.unshared": false,
    "dataset.shared": false,
    "dataset.unshared": false,
    "feedback_link.created": false,
    "assistant.created": false,
    "assistant.updated": false,
    "assistant.deleted": false,
    "cron.created": false,
    "cron.updated": false,
    "cron.deleted": false,
    "interrupt_link.created": false,
    "interrupt_link.revoked": false,
    "interrupt.answered": false,
    "thread.deleted": false,
    "thread.pruned": false,
    "run.deleted": false,
    "project.updated": false,
    "project.deleted": false,
    "trace.deleted": false,
    "dataset.deleted": false,
    "example.deleted": false,
    "comparison.deleted": false,
    "feedback.deleted": false,
    "feedback_config.deleted": false,
    "workspace.emptied": false,
    "masking.updated": false,
    "flow_rule.updated": false,
    "flow_rule.deleted": false,
    "encryption_key.created": false,
    "encryption_key.destroyed": false,
    "budget.updated": false,
    "budget.deleted": false,
    "budget.approved": false,
    "budget.declined": false,
    "prices.updated": false,
    "export.created": false,
    "export.cancelled": false,
    "annotation_queue.created": false,
    "annotation_queue.updated": false,
    "annotation_queue.deleted": false,
    "annotation_queue.filled": false,
    "annotation_queue.item_removed": false,
    "prompt.created": false,
    "prompt.updated": false,
    "prompt.deleted": false,
    "prompt.committed": false,
    "prompt.tagged": false,
    "prompt.untagged": false,
    "playground.called": false,
    "run_rule.created": false,
    "run_rule.updated": false,
    "run_rule.deleted": false,
    "run_rule.backfilled": false,
    "alert.created": false,
    "alert.updated": false,
    "alert.deleted": false,
    "alert.tested": false,
    "alert.resent": false,
  };

  it("has words for each action of the server, and marks refusals", () => {
    const offered = ACTIONS.flatMap(({ actions }) => actions.map(([action]) => action));
    expect(offered.toSorted()).toEqual(Object.keys(EVERY).toSorted());
    for (const [action, refusal] of Object.entries(EVERY)) {
      expect(actionText(action)).not.toContain(".");
      expect([action, isRefusal(action)]).toEqual([action, refusal]);
    }
    expect(actionText("later.added")).toBe("later.added");
  });

  it("names who did what to what", () => {
    const keys = new Map([["k1", "nightly"]]);
    const actors = [
      { kind: "key", id: "k1" },
      { kind: "token", id: "0123456789" },
      { kind: "admin", id: "admin" },
      { kind: "anonymous", id: "" },
      { kind: "robot", id: "7" },
    ];
    expect(actors.map((actor) => actorText(actor, keys))).toEqual([
      "nightly",
      "Application 01234567",
      "Admin key",
      "No sign-in",
      "robot 7",
    ]);
    const target = (target_id: string, detail: Record<string, unknown>) => targetText({ target_id, detail }, keys);
    expect([target("x", { name: "Lake" }), target("k1", {}), target("x", { name: 1 })]).toEqual([
      "Lake",
      "nightly",
      "x",
    ]);
  });
});

describe("applications", () => {
  it("are named by the host of their document where they have no name", () => {
    const names = [
      { client_id: "weir_client_x", client_name: "Notes" },
      { client_id: "https://app.example/client.json", client_name: null },
      { client_id: "weir_client_x", client_name: "" },
    ];
    expect(names.map(clientName)).toEqual(["Notes", "app.example", "weir_client_x"]);
  });

  it("return to hosts, to this device, or to a program", () => {
    const uris = [
      "http://127.0.0.1/cb",
      "http://[::1]/cb",
      "https://app.example/a",
      "https://app.example/b",
      "cursor://x/cb",
    ];
    expect(returnsTo(uris)).toBe("this device, app.example, cursor://");
  });
});

describe("usage", () => {
  it("says bytes in the unit that fits", () => {
    expect([0, 999, 1_000, 1_240, 84_000, 1_240_000_000, 5e15].map(bytesText)).toEqual([
      "0 B",
      "999 B",
      "1 kB",
      "1.2 kB",
      "84 kB",
      "1.2 GB",
      "5,000 TB",
    ]);
  });

  it("sums by day, with days on which nothing was stored, and by project, the largest first", () => {
    const day = (day: string, project_id: string, runs: number, bytes: number) => ({
      day,
      project_id,
      runs,
      bytes,
      project_name: project_id === "gone" ? null : project_id,
    });
    const days = [day("2026-11-20", "a", 1, 10), day("2026-11-20", "gone", 2, 50), day("2026-11-22", "a", 3, 30)];
    expect(byDay("2026-11-20", "2026-11-22", days)).toEqual([
      { day: "2026-11-20", runs: 3, bytes: 60 },
      { day: "2026-11-21", runs: 0, bytes: 0 },
      { day: "2026-11-22", runs: 3, bytes: 30 },
    ]);
    expect(byProject(days)).toEqual([
      { id: "gone", name: null, runs: 2, bytes: 50 },
      { id: "a", name: "a", runs: 4, bytes: 40 },
    ]);
    const from = Date.parse("2026-11-16T23:00:00Z");
    expect(findDays({ from, to: NOW })).toEqual({ first: "2026-11-16", last: "2026-11-22" });
    expect(findDays({ from, to: Date.parse("2026-11-22T00:00:00Z") }).last).toBe("2026-11-21");
  });

  it.each([
    ["the mean of the last seven whole days goes on", [...Array(14).fill(100), ...Array(7).fill(2), 1], 1415, 1432],
    ["today is above the pace", [...Array(21).fill(2), 9], 51, 67],
    ["a month with fewer days before", [4, 1], 5, 120, "2026-11-02T12:00:00Z"],
    ["a month that begins today", [3], 3, undefined, "2026-11-01T12:00:00Z"],
  ] as [string, number[], number, number | undefined, string?][])(
    "forecast a month: %s",
    (_, costs, cost, expected, now) => {
      const buckets = costs.map((total_cost) => ({ total_cost }));
      const month = forecastMonth(buckets, now ? Date.parse(now) : NOW);
      expect(month).toEqual({ month: "2026-11", cost, expected });
    },
  );
});
