/** How the last due times of a cron went. */
import type { Cron, Firing } from "../../../../src/automation/crons/wire.ts";

/** The firings of each cron, in the order given: the newest first. */
export function byCron(firings: Firing[]): Map<string, Firing[]> {
  const found = new Map<string, Firing[]>();
  for (const firing of firings) found.set(firing.cron_id, [...(found.get(firing.cron_id) ?? []), firing]);
  return found;
}

export const isFailure = ({ state }: Firing): boolean => state === "failed" || state === "refused";

/** Look and label of a firing's state. */
export const FIRING_STATES: Record<Firing["state"], { state: string; word: string }> = {
  due: { state: "pending", word: "starting" },
  running: { state: "running", word: "running" },
  ended: { state: "success", word: "ended" },
  failed: { state: "error", word: "failed" },
  refused: { state: "error", word: "not started" },
};

/** Whether a cron fires: it is on, paused by a person, or has no further due time. */
export function cronStatus({
  enabled,
  next_run_date,
}: Pick<Cron, "enabled" | "next_run_date">): "active" | "paused" | "over" {
  if (!enabled) return "paused";
  return next_run_date === null ? "over" : "active";
}
