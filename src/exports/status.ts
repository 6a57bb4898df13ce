/** The states of an export and of an export run, as data (specification 3.1). */
import type { ExportStatus } from "./table.ts";

/** Where each state may lead. What has ended stays as it is. A schedule is CREATED until it is cancelled. */
export const TRANSITIONS: Record<ExportStatus, readonly ExportStatus[]> = {
  CREATED: ["RUNNING", "FAILED", "CANCELLED", "TIMEDOUT"],
  RUNNING: ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  TIMEDOUT: [],
};

export const STATUSES = Object.keys(TRANSITIONS) as ExportStatus[];

/** States that are not final. */
export const OPEN: ExportStatus[] = STATUSES.filter((status) => TRANSITIONS[status].length > 0);

/**
 * The states from which `next` can be reached. Every statement that changes a status names them in its WHERE, so that an
 * illegal transition changes no row.
 */
export function statusesBefore(next: ExportStatus): ExportStatus[] {
  return STATUSES.filter((status) => TRANSITIONS[status].includes(next));
}
