/** Every rule of specification 4.2 and every field of a destination: a 4xx that names the field, and no secret. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";

const PATH = "/api/v1/bulk-exports";
const SECRET = "a-secret-that-must-not-come-back";
type Json = Record<string, unknown>;

let caller: Caller;
let destination: string;
let project: string;

beforeAll(async () => {
  caller = await newCaller();
  const create = async (path: string, body: Json) =>
    (await (await caller.fetch(path, { body })).json<{ id: string }>()).id;
  destination = await create(`${PATH}/destinations`, { destination_type: "r2", display_name: "d", config: {} });
  project = await create("/api/v1/sessions", { name: "p" });
});

const UUID = "11111111-1111-4111-8111-111111111111";
const JOBS: [string, Json, number, RegExp][] = [
  ["no destination", { bulk_export_destination_id: undefined }, 422, /bulk_export_destination_id/],
  ["a destination that is no id", { bulk_export_destination_id: "x' OR 1=1" }, 422, /bulk_export_destination_id/],
  ["a destination that is not there", { bulk_export_destination_id: UUID }, 404, /Destination not found/],
  ["a project that is not there", { session_id: UUID }, 404, /Project not found/],
  ["a project that is no id", { session_id: "all" }, 422, /session_id/],
  ["neither project nor all_experiments", { session_id: undefined }, 422, /exactly one/],
  ["all_experiments false and no project", { session_id: null, all_experiments: false }, 422, /exactly one/],
  ["both project and all_experiments", { all_experiments: true }, 422, /exactly one/],
  ["all_experiments as text", { all_experiments: "true" }, 422, /all_experiments/],
  ["no start", { start_time: undefined }, 422, /start_time/],
  ["a start that is no time", { start_time: "yesterday" }, 422, /start_time/],
  ["a start as a number", { start_time: 1767225600 }, 422, /start_time/],
  ["a start that does not exist", { start_time: "2026-02-30T25:00:00Z" }, 422, /start_time/],
  ["a start on a day that the calendar does not have", { start_time: "2026-02-30T00:00:00Z" }, 422, /start_time/],
  ["no end", { end_time: undefined }, 422, /end_time.*required/],
  ["a null end", { end_time: null }, 422, /end_time.*required/],
  ["an end before the start", { end_time: "2025-12-31T00:00:00Z" }, 422, /end_time.*after/],
  ["an empty window", { end_time: "2026-01-01T00:00:00Z" }, 422, /end_time.*after/],
  ["a window of centuries", { end_time: "2200-01-01T00:00:00Z" }, 422, /end_time.*days/],
  ["an end on a schedule", { interval_hours: 24 }, 422, /end_time.*left out/],
  ["an interval of 0", { end_time: undefined, interval_hours: 0 }, 422, /interval_hours.*1/],
  ["an interval of 169", { end_time: undefined, interval_hours: 169 }, 422, /interval_hours.*168/],
  ["half an hour", { end_time: undefined, interval_hours: 0.5 }, 422, /interval_hours/],
  ["an interval as text", { end_time: undefined, interval_hours: "24" }, 422, /interval_hours/],
  [
    "a schedule from the beginning of time",
    { end_time: undefined, interval_hours: 1, start_time: "1980-01-01" },
    422,
    /start_time/,
  ],
  ["a filter that is no filter", { filter: "run_type = 'llm'" }, 400, /filter/],
  ["a filter with an unknown field", { filter: 'eq(colour, "red")' }, 400, /colour/],
  ["an empty filter", { filter: "" }, 400, /filter/],
  ["a filter that is an object", { filter: { eq: 1 } }, 422, /filter/],
  ["an unknown field to export", { export_fields: ["id", "password"] }, 422, /export_fields/],
  ["no field to export", { export_fields: [] }, 422, /export_fields/],
  ["fields as text", { export_fields: "id,name" }, 422, /export_fields/],
  ["another format", { format: "CSV" }, 422, /format/],
  ["another format version", { format_version: "v1" }, 422, /format_version/],
  ["an unknown compression", { compression: "brotli" }, 422, /compression/],
  ["a member that does not exist", { interval_hour: 3 }, 422, /interval_hour/],
];

describe("a bad export job", () => {
  it.for(JOBS)("%s", async ([, change, status, says]) => {
    const job = { start_time: "2026-01-01T00:00:00Z", end_time: "2026-01-02T00:00:00Z" };
    const body = { bulk_export_destination_id: destination, session_id: project, ...job, ...change };
    const response = await caller.fetch(PATH, { body });
    const problem = await response.json<{ detail: string }>();
    expect([response.status, problem.detail]).toEqual([status, expect.stringMatching(says)]);
  });

  it.for([
    ["PATCH", "", { status: "RUNNING" }, 422],
    ["PATCH", "", { status: "COMPLETED" }, 422],
    ["PATCH", "", {}, 422],
    ["PATCH", "", { status: "CANCELLED", end_time: "2026-01-02T00:00:00Z" }, 422],
    ["GET", "?limit=0", undefined, 422],
    ["GET", "?limit=1001", undefined, 422],
    ["GET", "?offset=-1", undefined, 422],
    ["GET", "/runs", undefined, 422],
    ["GET", "/not-an-id", undefined, 422],
    ["GET", "/not-an-id/runs", undefined, 422],
    ["DELETE", `/${UUID}`, undefined, 405],
  ] as const)("%s %s %o", async ([method, rest, body, status]) => {
    const path = method === "PATCH" ? `${PATH}/${UUID}` : PATH + rest;
    expect((await caller.fetch(path, { method, body })).status).toBe(status);
  });

  it("in JSON that is none, or in no JSON", async () => {
    expect((await caller.fetch(PATH, { body: "{" })).status).toBe(400);
    expect((await caller.fetch(PATH, { body: "[]" })).status).toBe(422);
    const headers = { "content-type": "application/xml" };
    expect((await caller.fetch(PATH, { body: "<a/>", headers })).status).toBe(415);
  });
});

const DESTINATIONS: [string, Json, Json, RegExp][] = [
  ["no name", { display_name: undefined }, {}, /display_name/],
  ["an empty name", { display_name: "" }, {}, /display_name/],
  ["a name without end", { display_name: "x".repeat(256) }, {}, /display_name/],
  ["an unknown type", { destination_type: "gcs" }, {}, /destination_type/],
  ["no configuration", { config: undefined }, {}, /config/],
  ["no credentials", { credentials: undefined }, {}, /credentials/],
  ["credentials without a secret", { credentials: { access_key_id: "a" } }, {}, /secret_access_key/],
  ["an empty secret", { credentials: { access_key_id: "a", secret_access_key: "" } }, {}, /secret_access_key/],
  ["a secret that is a number", { credentials: { access_key_id: "a", secret_access_key: 1 } }, {}, /secret_access_key/],
  [
    "a key id with a line break",
    { credentials: { access_key_id: "a\r\nx: y", secret_access_key: SECRET } },
    {},
    /access_key_id/,
  ],
  [
    "a token with a line break",
    { credentials: { access_key_id: "a", secret_access_key: SECRET, session_token: "a\nb" } },
    {},
    /session_token/,
  ],
  ["a bucket too short", {}, { bucket_name: "ab" }, /bucket_name/],
  ["a bucket too long", {}, { bucket_name: "b".repeat(64) }, /bucket_name/],
  ["a bucket that is a path", {}, { bucket_name: "../../etc" }, /bucket_name/],
  ["a bucket that is a host", {}, { bucket_name: "evil.com/x" }, /bucket_name/],
  ["no bucket", {}, { bucket_name: undefined }, /bucket_name/],
  ["a prefix that climbs", {}, { prefix: "a/../../b" }, /prefix/],
  ["a prefix with a line break", {}, { prefix: "a\nb" }, /prefix/],
  ["a prefix too long", {}, { prefix: "p".repeat(2049) }, /prefix/],
  ["a region that is a host", {}, { region: "x.evil.com/", endpoint_url: undefined }, /region/],
  ["a region with an @", {}, { region: "a@b", endpoint_url: undefined }, /region/],
  ["neither region nor endpoint", {}, { region: undefined, endpoint_url: undefined }, /region/],
  ["an unknown addressing style", {}, { config_kwargs_s3: { addressing_style: "dns" } }, /addressing_style/],
  ["an unknown argument", {}, { s3_additional_kwargs: { Host: "evil.com" } }, /s3_additional_kwargs/],
  [
    "an argument with a line break",
    {},
    { s3_additional_kwargs: { ACL: "private\r\nHost: x" } },
    /s3_additional_kwargs/,
  ],
  ["a role", {}, { aws_role_arn: "arn:aws:iam::1:role/x" }, /aws_role_arn/],
  ["an unknown member", {}, { bucket: "lake" }, /bucket/],
  ["r2 with credentials", { destination_type: "r2" }, {}, /credentials/],
  ["r2 with a bucket", { destination_type: "r2", credentials: undefined }, {}, /config/],
  ["http", {}, { endpoint_url: "http://s3.example.com" }, /endpoint_url.*https/],
  ["no URL", {}, { endpoint_url: "s3.example.com" }, /endpoint_url/],
  ["the machine itself", {}, { endpoint_url: "https://localhost:9000" }, /endpoint_url.*private/],
  ["loopback", {}, { endpoint_url: "https://127.0.0.1" }, /endpoint_url.*private/],
  ["loopback in one number", {}, { endpoint_url: "https://2130706433" }, /endpoint_url.*private/],
  ["loopback in IPv6", {}, { endpoint_url: "https://[::ffff:7f00:1]" }, /endpoint_url.*private/],
  ["a private network", {}, { endpoint_url: "https://10.0.0.1" }, /endpoint_url.*private/],
  ["the metadata service", {}, { endpoint_url: "https://169.254.169.254/latest" }, /endpoint_url.*private/],
  ["the metadata service by name", {}, { endpoint_url: "https://metadata.google.internal" }, /endpoint_url.*private/],
  [
    "credentials in the URL",
    {},
    { endpoint_url: `https://user:${SECRET}@s3.example.com` },
    /endpoint_url.*credentials/,
  ],
];

describe("a bad destination", () => {
  it.for(DESTINATIONS)("%s", async ([, change, configChange, says]) => {
    const config = {
      bucket_name: "lake",
      region: "us-east-1",
      endpoint_url: "https://s3.example.com",
      ...configChange,
    };
    const credentials = { access_key_id: "AKIDEXAMPLE", secret_access_key: SECRET };
    const body = { destination_type: "s3", display_name: "lake", config, credentials, ...change };
    const response = await caller.fetch(`${PATH}/destinations`, { body });
    const text = await response.text();
    expect(response.status).toBe(422);
    expect((JSON.parse(text) as { detail: string }).detail).toMatch(says);
    expect(text).not.toContain(SECRET);
  });

  it.for([{}, { credentials: null }, { config: { bucket_name: "x" } }, { credentials: { access_key_id: "a" } }])(
    "changed by %o",
    async (body) => {
      expect((await caller.fetch(`${PATH}/destinations/${destination}`, { method: "PATCH", body })).status).toBe(422);
    },
  );
});
