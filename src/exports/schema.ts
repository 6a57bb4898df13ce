/** Shapes of export jobs: specification 2.5 and the rules of 4.2. */
import * as v from "valibot";
import { optional, pagingQuery, Uuid } from "../http/shapes.ts";
import { DAY_MICROS, HOUR_MICROS, microsFromIso } from "../traces/time.ts";
import { CODECS, type Compression } from "./parquet/chunk.ts";
import { EXPORT_FIELDS } from "./parquet/columns.ts";

/** An export run is made for each day, so the days of one export are bounded; and so is what a schedule catches up. */
const MAX_DAYS = 3_700;
const MAX_MISSED_WINDOWS = 10_000;

/** ISO 8601 as microseconds since the epoch. */
const Time = v.pipe(
  v.string(),
  v.maxLength(64, "must be an ISO 8601 time such as 2026-01-01T00:00:00Z"),
  v.transform((text) => microsFromIso(text)),
  v.number("must be an ISO 8601 time such as 2026-01-01T00:00:00Z"),
  v.metadata({ type: "string", format: "date-time" }),
);

const INTERVAL = "must be a whole number of hours from 1 to 168";

export const CreateExport = v.pipe(
  v.strictObject({
    bulk_export_destination_id: Uuid,
    session_id: optional(Uuid),
    all_experiments: v.optional(v.nullable(v.boolean()), false),
    start_time: Time,
    end_time: optional(Time),
    interval_hours: optional(
      v.pipe(v.number(), v.integer(INTERVAL), v.minValue(1, INTERVAL), v.maxValue(168, INTERVAL)),
    ),
    filter: optional(v.string()),
    format: v.optional(v.nullable(v.literal("Parquet")), "Parquet"),
    format_version: v.optional(v.nullable(v.literal("v2_beta")), "v2_beta"),
    compression: v.optional(v.nullable(v.picklist(Object.keys(CODECS) as Compression[])), "zstandard"),
    export_fields: optional(
      v.pipe(v.array(v.picklist(EXPORT_FIELDS)), v.minLength(1, "must name at least one field"), v.maxLength(1_000)),
    ),
  }),
  v.forward(
    v.check(
      ({ session_id, all_experiments }) => (session_id === undefined) === (all_experiments === true),
      "set exactly one of session_id and all_experiments: true",
    ),
    ["session_id"],
  ),
  v.forward(
    v.check(
      ({ end_time, interval_hours }) => interval_hours !== undefined || end_time !== undefined,
      "is required unless interval_hours makes the export scheduled",
    ),
    ["end_time"],
  ),
  v.forward(
    v.check(
      ({ end_time, interval_hours }) => interval_hours === undefined || end_time === undefined,
      "must be left out of a scheduled export (one with interval_hours)",
    ),
    ["end_time"],
  ),
  v.forward(
    v.check(({ start_time, end_time }) => end_time === undefined || end_time > start_time, "must be after start_time"),
    ["end_time"],
  ),
  v.forward(
    v.check(
      ({ start_time, end_time }) => end_time === undefined || end_time - start_time <= MAX_DAYS * DAY_MICROS,
      `must be at most ${MAX_DAYS} days after start_time`,
    ),
    ["end_time"],
  ),
  v.forward(
    v.check(
      ({ start_time, interval_hours }) =>
        interval_hours === undefined ||
        (Date.now() * 1000 - start_time) / (interval_hours * HOUR_MICROS) <= MAX_MISSED_WINDOWS,
      `must be at most ${MAX_MISSED_WINDOWS} intervals ago`,
    ),
    ["start_time"],
  ),
);

export type CreateExportInput = v.InferOutput<typeof CreateExport>;

/** The only change an export takes. Clients write `Cancelled`; case does not matter. */
export const PatchExport = v.strictObject({
  status: v.pipe(v.string(), v.regex(/^cancell?ed$/i, 'can only be set to "CANCELLED"')),
});

export const Paging = v.object(pagingQuery(1000));
export const SpawnedQuery = v.object({ ...pagingQuery(1000), source_bulk_export_id: Uuid });
export const ExportId = v.object({ id: Uuid });
export const ExportRunId = v.object({ id: Uuid, run_id: Uuid });
