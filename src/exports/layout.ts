/** The paths of files below a destination's prefix (specification 4.2). */
import type { ExportRunRow } from "./store.ts";

/** The folder of one project and day. Month and day are plain numbers, as readers infer from Hive paths. */
export function runFolder(run: { exportId: string; workspaceId: string; projectId: string; day: string }): string {
  const [year, month, day] = run.day.split("-").map(Number);
  const folders = [`export_id=${run.exportId}`, `tenant_id=${run.workspaceId}`, `session_id=${run.projectId}`, "runs"];
  return [...folders, `year=${year}`, `month=${month}`, `day=${day}`].join("/");
}

/**
 * The next file of a run: its shard, from 1, and its number in that shard, from 0. A late run's file has the number of the
 * schedule's window with which it was exported. The name depends on nothing else, so that a retry overwrites its own file.
 */
export function fileName(
  { shard, files, late }: Pick<ExportRunRow, "shard" | "files" | "late">,
  window: number,
): string {
  const index = files.filter((file) => (file.shard ?? 0) === shard).length;
  return `${late ? `late-${window}` : "part"}-${shard === 0 ? "" : `s${padNumber(shard, 2)}-`}${padNumber(index, 5)}.parquet`;
}

const padNumber = (number: number, digits: number) => String(number).padStart(digits, "0");

/** Written last: a reader that sees it has every file it names. The underscore hides it from Spark and Athena. */
export function manifestKey(exportId: string): string {
  return `export_id=${exportId}/_manifest.json`;
}
