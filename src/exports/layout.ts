/** Where files lie below a destination's prefix (specification 4.2). */

/** The folder of one project and day. Month and day are plain numbers, as readers infer from Hive paths. */
export function runFolder(run: { exportId: string; workspaceId: string; projectId: string; day: string }): string {
  const [year, month, day] = run.day.split("-").map(Number);
  const folders = [`export_id=${run.exportId}`, `tenant_id=${run.workspaceId}`, `session_id=${run.projectId}`, "runs"];
  return [...folders, `year=${year}`, `month=${month}`, `day=${day}`].join("/");
}

/** The n-th file of a folder, from 0. The name depends on nothing else, so that a retry overwrites its own file. */
export function fileName(index: number): string {
  return `part-${String(index).padStart(5, "0")}.parquet`;
}

/** Written last: a reader that sees it has every file it names. The underscore hides it from Spark and Athena. */
export function manifestKey(exportId: string): string {
  return `export_id=${exportId}/_manifest.json`;
}
