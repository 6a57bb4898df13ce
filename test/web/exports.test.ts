/** The days of an export and the query that reads it. */
import { describe, expect, it } from "vitest";
import {
  everyText,
  groupRuns,
  measurePace,
  runText,
  jobStatus,
  windowText,
} from "../../packages/web/console/exports/days.ts";
import { buildDuckdb, buildQuery } from "../../packages/web/console/exports/duckdb.ts";
import type { Destination, Job, Run } from "../../packages/web/console/exports/types.ts";

const job = (changes: Partial<Job> = {}): Job => ({
  id: "e1",
  bulk_export_destination_id: "d1",
  session_id: "p1",
  start_time: "2026-01-30T00:00:00Z",
  end_time: "2026-02-03T00:00:00Z",
  filter: null,
  compression: "zstandard",
  interval_hours: null,
  export_fields: null,
  status: "RUNNING",
  error: null,
  source_bulk_export_id: null,
  created_at: "2026-02-03T10:00:00Z",
  finished_at: null,
  progress: { rows_written: 0, bytes_written: 0, files_written: 0, runs_total: 4, runs_completed: 0, fraction: 0 },
  late_runs: null,
  ...changes,
});

const run = (session_id: string, day: string, changes: Partial<Run> = {}): Run => ({
  id: `${session_id} ${day}`,
  bulk_export_id: "e1",
  session_id,
  late: false,
  status: "COMPLETED",
  retry_number: 0,
  errors: null,
  start_time: `${day}T00:00:00Z`,
  end_time: `${day}T24:00:00Z`,
  metadata: { prefix: "", result: { rows_written: 1_204, bytes_written: 9, exported_files: [] } },
  updated_at: "2026-02-03T10:00:30Z",
  finished_at: null,
  ...changes,
});

describe("the days of an export", () => {
  it("stand by project and month, late ones behind the others of their project", () => {
    const runs = [
      run("b", "2026-01-30"),
      run("a", "2026-01-30"),
      run("b", "2026-01-29", { late: true }),
      run("b", "2026-01-31"),
      run("b", "2026-02-01"),
    ];
    const shape = groupRuns(runs).map(({ project, late, months }) => [
      project,
      late,
      months.map(({ month, runs: own }) => `${month} ${own.length}`),
    ]);
    expect(shape).toEqual([
      ["b", false, ["2026-01 2", "2026-02 1"]],
      ["b", true, ["2026-01 1"]],
      ["a", false, ["2026-01 1"]],
    ]);
  });

  it("say what happened on a day", () => {
    expect(runText(run("a", "2026-01-30", { retry_number: 1 }))).toBe("Jan 30, 2026: done, 1,204 rows, 2 attempts");
    const waiting = run("a", "2026-01-30", { status: "CREATED", metadata: { prefix: "", result: null } });
    expect(runText(waiting)).toBe("Jan 30, 2026: waiting");
  });

  it("say their window with the last day included", () => {
    expect(windowText(job())).toBe("Jan 30, 2026 to Feb 2, 2026");
    expect(windowText(job({ end_time: "2026-01-31T00:00:00Z" }))).toBe("Jan 30, 2026");
    expect(windowText(job({ end_time: null }))).toBe("from Jan 30, 2026");
    expect([1, 6, 24, 48, 168].map(everyText)).toEqual([
      "every hour",
      "every 6 hours",
      "every day",
      "every 2 days",
      "every week",
    ]);
  });

  it("say that a schedule is active, which the API calls created", () => {
    expect(jobStatus(job({ status: "CREATED", interval_hours: 24 })).word).toBe("active");
    expect(jobStatus(job({ status: "CANCELLED", interval_hours: 24 })).word).toBe("cancelled");
    expect(jobStatus(job({ status: "CREATED" })).word).toBe("waiting");
  });
});

describe("the pace of an export", () => {
  const at = (seconds: number) => Date.parse("2026-02-03T10:00:00Z") + seconds * 1_000;
  const progress = (runs_completed: number) => ({ ...job().progress, rows_written: 600, runs_completed });

  it("estimates the rest only after three days are done", () => {
    expect(measurePace(job({ progress: progress(2) }), [], at(60))).toMatchObject({
      rowsPerSecond: 10,
      left: undefined,
    });
    expect(measurePace(job({ progress: progress(3) }), [], at(60))).toMatchObject({ left: 20 });
  });

  it("says since when nothing has changed, after two minutes", () => {
    const runs = [run("a", "2026-01-30"), run("a", "2026-01-31", { updated_at: "2026-02-03T10:00:10Z" })];
    expect(measurePace(job(), runs, at(140)).stillSince).toBeUndefined();
    expect(measurePace(job(), runs, at(151)).stillSince).toBe("2026-02-03T10:00:30Z");
  });
});

describe("the query for DuckDB", () => {
  const destination = (
    changes: Partial<Destination["config"]> = {},
    destination_type: "s3" | "r2" = "s3",
  ): Destination => ({
    id: "d1",
    destination_type,
    display_name: "Lake",
    config: {
      bucket_name: "lake",
      prefix: "weir/o'traces",
      region: null,
      endpoint_url: null,
      include_bucket_in_prefix: true,
      config_kwargs_s3: null,
      ...changes,
    },
    credentials_keys: [],
    created_at: "",
    updated_at: "",
  });
  const secret = (changes: Partial<Destination["config"]>) =>
    buildDuckdb(job(), destination(changes))
      .split("\n")[1]
      ?.replace(/.*'<secret access key>', /, "");

  it("reads the files of the export, with quotes doubled", () => {
    expect(buildDuckdb(job(), destination({ region: "eu-west-1" }))).toBe(`INSTALL httpfs; LOAD httpfs;
CREATE SECRET (TYPE s3, KEY_ID '<access key id>', SECRET '<secret access key>', REGION 'eu-west-1');

SELECT run_type, count(*) AS runs, sum(total_tokens) AS tokens, sum(total_cost) AS cost
FROM read_parquet('s3://lake/weir/o''traces/export_id=e1/**/*.parquet', hive_partitioning = true)
GROUP BY ALL ORDER BY runs DESC;`);
  });

  it("uses no column that the export leaves out", () => {
    expect(buildQuery(job({ export_fields: ["id", "run_type"] }), "s3://b")).toMatch(
      /^SELECT \*\nFROM .*\nLIMIT 100;$/,
    );
    const schedule = { interval_hours: 24, end_time: null };
    expect(buildQuery(job({ ...schedule, export_fields: ["name"] }), "s3://b")).toContain("s3://b/export_id=*/");
    expect(buildQuery(job(schedule), "s3://b")).toContain("QUALIFY");
  });

  it("addresses the store as the export did", () => {
    const endpoint_url = "https://acct.r2.cloudflarestorage.com";
    expect(secret({ endpoint_url })).toBe(
      "REGION 'auto', ENDPOINT 'acct.r2.cloudflarestorage.com', URL_STYLE 'path');",
    );
    expect(secret({ endpoint_url: "http://minio:9000/", region: "us-east-1" })).toBe(
      "REGION 'us-east-1', ENDPOINT 'minio:9000', URL_STYLE 'path', USE_SSL false);",
    );
    const virtual = { config_kwargs_s3: { addressing_style: "virtual" } };
    expect(secret({ endpoint_url: "https://s3.example", ...virtual })).toContain("URL_STYLE 'vhost'");
    const named = { include_bucket_in_prefix: false };
    expect(secret({ endpoint_url: "https://lake.s3.example", ...named })).toContain(
      "ENDPOINT 's3.example', URL_STYLE 'vhost'",
    );
    expect(secret({ endpoint_url: "https://s3.example/lake", ...named })).toContain(
      "ENDPOINT 's3.example', URL_STYLE 'path'",
    );
    expect(buildDuckdb(job(), destination({ prefix: "" }, "r2"))).toContain("'r2://lake/export_id=e1/");
  });
});
