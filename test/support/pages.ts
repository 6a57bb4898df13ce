/** Pages as a partition gives them, made of a test's own runs. */
import { EXPORT_FIELDS, type ExportField, columnKind } from "../../src/exports/parquet/columns.ts";
import { isConstant, isPayload, isUnique, type RunPage, type Texts, TextsBuilder } from "../../src/traces/columns.ts";
import { PAYLOAD_FIELDS, type StoredTraceRun } from "../../src/traces/types.ts";

/** All runs in one page, the last one. */
export function toPage(runs: StoredTraceRun[]): RunPage {
  const [first] = runs;
  const last = runs.at(-1);
  const page: RunPage = {
    rows: runs.length,
    constants: {
      tenant_id: first?.tenant_id ?? "",
      session_id: first?.session_id ?? "",
      trace_tier: first?.trace_tier ?? "",
    },
    light: {},
    unique: {},
    payloads: {},
    large: [],
    bytes: 0,
    next: last ? { start_time: last.start_time, id: last.id } : null,
    done: true,
    changes: 0,
  };
  for (const field of EXPORT_FIELDS) {
    if (isConstant(field)) continue;
    if (isPayload(field)) {
      page.payloads[field] = buildTexts(runs.map((run) => run[field]));
    } else if (isUnique(field)) {
      page.unique[field] = buildTexts(runs.map((run) => run[field]));
    } else if (field === "feedbacks") {
      page.light.feedbacks = JSON.stringify(runs.map(() => null));
    } else {
      page.light[field] = JSON.stringify(runs.map((run) => toStored(run[field])));
    }
  }
  page.bytes = runs.reduce((sum, run) => sum + estimateSize(run), 0);
  return page;
}

function buildTexts(column: (string | null)[]): Texts {
  const builder = new TextsBuilder();
  for (const text of column) builder.add(text === null ? null : Buffer.from(text), false);
  return builder.build();
}

/** A value as a column of the database holds it. */
function toStored(value: StoredTraceRun[keyof StoredTraceRun]): string | number | null {
  if (Array.isArray(value)) return JSON.stringify(value);
  if (typeof value === "boolean") return Number(value);
  return value as string | number | null;
}

function estimateSize(run: StoredTraceRun): number {
  return 600 + PAYLOAD_FIELDS.reduce((sum, field) => sum + (run[field]?.length ?? 0), 0);
}

/** What a reader of the file must find in a column: integers and times as bigint, null where there is nothing. */
export function columnValue(run: StoredTraceRun, field: ExportField): unknown {
  const value = field === "feedbacks" ? null : (run[field] ?? null);
  if (value === null) return null;
  return ["time", "integer"].includes(columnKind(field)) ? BigInt(value as number) : value;
}
