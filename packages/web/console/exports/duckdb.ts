/** SQL that reads an export in DuckDB. Credentials are placeholders: the server does not show them. */
import type { Destination, Job } from "./types.ts";

const METRICS = ["run_type", "total_tokens", "total_cost"];

/** Where a destination's objects are, for a reader of S3 addresses. */
export function formatLocation({ destination_type, config: { bucket_name, prefix } }: Destination): string {
  return `${destination_type}://${[bucket_name, ...(prefix === "" ? [] : [prefix])].join("/")}`;
}

/** A script for the DuckDB shell: the secret, then a query over the files. */
export function buildDuckdb(job: Job, destination: Destination): string {
  return [
    `INSTALL httpfs; LOAD httpfs;`,
    buildSecret(destination),
    "",
    buildQuery(job, formatLocation(destination)),
  ].join("\n");
}

/** Only the query. `place`: the address or the folder of the destination. */
export function buildQuery(
  { id, interval_hours, export_fields }: Pick<Job, "id" | "interval_hours" | "export_fields">,
  place: string,
): string {
  const has = (names: string[]) => export_fields === null || names.every((name) => export_fields.includes(name));
  if (interval_hours !== null && has(["id"])) return scheduleQuery(place);
  const files = quoted(`${place}/export_id=${interval_hours === null ? id : "*"}/**/*.parquet`);
  const from = `FROM read_parquet(${files}, hive_partitioning = true)`;
  if (!has(METRICS)) return `SELECT *\n${from}\nLIMIT 100;`;
  return [
    "SELECT run_type, count(*) AS runs, sum(total_tokens) AS tokens, sum(total_cost) AS cost",
    from,
    "GROUP BY ALL ORDER BY runs DESC;",
  ].join("\n");
}

/** Each run as it was exported last: a file `late-<k>-…` has runs of earlier windows that came or changed later. */
function scheduleQuery(place: string): string {
  return `SELECT * EXCLUDE (filename, k)
FROM (
  SELECT *, coalesce(try_cast(regexp_extract(filename, '/late-(\\d+)-', 1) AS BIGINT), 0) AS k
  FROM read_parquet(${quoted(`${place}/export_id=*/**/*.parquet`)}, filename = true)
)
QUALIFY row_number() OVER (PARTITION BY id ORDER BY k DESC) = 1;`;
}

function buildSecret({ destination_type, config }: Destination): string {
  const settings: [name: string, value: string][] = [
    ["KEY_ID", quoted("<access key id>")],
    ["SECRET", quoted("<secret access key>")],
  ];
  const statement = (type: string) =>
    `CREATE SECRET (TYPE ${type}, ${settings.map(([name, value]) => `${name} ${value}`).join(", ")});`;
  if (destination_type === "r2") {
    settings.push(["ACCOUNT_ID", quoted("<account id>")]);
    return statement("r2");
  }
  const endpoint = config.endpoint_url === null ? null : URL.parse(config.endpoint_url);
  const { host, virtual } = endpoint ? buildHost(endpoint, config) : { host: undefined, virtual: true };
  settings.push([
    "REGION",
    quoted(config.region ?? (host?.endsWith(".r2.cloudflarestorage.com") ? "auto" : "us-east-1")),
  ]);
  if (endpoint && host !== undefined) {
    settings.push(["ENDPOINT", quoted(host)], ["URL_STYLE", quoted(virtual ? "vhost" : "path")]);
    if (endpoint.protocol === "http:") settings.push(["USE_SSL", "false"]);
  }
  return statement("s3");
}

/** DuckDB puts the bucket before the host or behind it. An endpoint that names the bucket is cut down to the rest. */
function buildHost(endpoint: URL, config: Destination["config"]): { host: string; virtual: boolean } {
  const path = endpoint.pathname.replace(/\/+$/, "");
  if (config.include_bucket_in_prefix)
    return { host: endpoint.host + path, virtual: config.config_kwargs_s3?.addressing_style === "virtual" };
  if (endpoint.host.startsWith(`${config.bucket_name}.`))
    return { host: endpoint.host.slice(config.bucket_name.length + 1) + path, virtual: true };
  const end = `/${config.bucket_name}`;
  const kept = path.endsWith(end) ? path.slice(0, -end.length) : path;
  return { host: endpoint.host + kept, virtual: false };
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
