/** The columns of the lists of exports. */
import { Link } from "wouter";
import type { Project } from "../../api/queries.ts";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { everyText, jobStatus, windowText } from "./days.ts";
import { formatLocation } from "./duckdb.ts";
import own from "./exports.module.css";
import type { Destination, Job } from "./types.ts";
import { bytesText, countText } from "../../ui/format.ts";

const PATH = "/console/exports";

type NameProject = (job: Pick<Job, "session_id">) => string;

/** The source of a job: the name of its project, or its id where that is not among the latest. While they load: no name. */
export const projectName =
  (projects: Project[] | undefined): NameProject =>
  ({ session_id }) =>
    session_id === null
      ? "All experiments"
      : projects
        ? (projects.find(({ id }) => id === session_id)?.name ?? `Project ${session_id.slice(0, 8)}`)
        : "Project";

const progressText = ({ progress: { runs_total, runs_completed } }: Job) =>
  runs_total === 0 ? "" : `${countText(runs_completed)} of ${countText(runs_total)}`;

export function Progress({ job }: { job: Job }) {
  const text = progressText(job);
  return (
    <span className={own.progress} title={text === "" ? undefined : `${text} days done`}>
      <progress value={job.progress.fraction} max={1} aria-label="Days done" data-status={job.status} />
      {text}
    </span>
  );
}

const created: Column<{ created_at: string }> = {
  id: "created",
  name: "Created",
  width: 88,
  end: true,
  detail: true,
  cell: ({ created_at }) => <Time at={created_at} />,
};

const status: Column<Job> = {
  id: "status",
  name: "Status",
  width: 104,
  kept: true,
  cell: (job) => <State {...jobStatus(job)} />,
};

const what = (nameProject: NameProject): Column<Job> => ({
  id: "project",
  name: "Project",
  width: 130,
  kept: true,
  grows: true,
  cell: (job) => <Link href={`${PATH}/${job.id}`}>{nameProject(job)}</Link>,
});

export const jobColumns = (nameProject: NameProject): Column<Job>[] => [
  status,
  what(nameProject),
  {
    id: "progress",
    name: "Days done",
    width: 120,
    detail: true,
    cell: (job, isPhone) => (isPhone ? progressText(job) && `${progressText(job)} days` : <Progress job={job} />),
  },
  { id: "window", name: "Dates", width: 200, cell: windowText },
  {
    id: "source",
    name: "Source",
    width: 96,
    cell: ({ source_bulk_export_id: id }) => (id === null ? "Manual" : <Link href={`${PATH}/${id}`}>Schedule</Link>),
  },
  { id: "rows", name: "Rows", width: 88, end: true, cell: ({ progress }) => countText(progress.rows_written) },
  {
    id: "bytes",
    name: "Size",
    width: 80,
    end: true,
    detail: true,
    cell: ({ progress }) => bytesText(progress.bytes_written),
  },
  created,
];

export const scheduleColumns = (nameProject: NameProject, placed: Map<string, string> | undefined): Column<Job>[] => [
  status,
  what(nameProject),
  {
    id: "every",
    name: "Frequency",
    width: 104,
    kept: true,
    cell: ({ interval_hours }) => everyText(interval_hours ?? 1),
  },
  { id: "window", name: "Dates", width: 130, detail: true, cell: windowText },
  {
    id: "destination",
    name: "Destination",
    width: 140,
    cell: ({ bulk_export_destination_id: id }) => placed && (placed.get(id) ?? "deleted"),
  },
  created,
];

export const destinationColumns = (): Column<Destination>[] => [
  {
    id: "name",
    name: "Name",
    width: 120,
    kept: true,
    cell: ({ id, display_name }) => <Link href={`${PATH}?destination=${id}`}>{display_name}</Link>,
  },
  {
    id: "place",
    name: "Location",
    width: 200,
    kept: true,
    grows: true,
    cell: (row) => (
      <span className={css.mono} title={formatLocation(row)}>
        {formatLocation(row)}
      </span>
    ),
  },
  { id: "endpoint", name: "Provider", width: 200, detail: true, cell: storeText },
  created,
];

/** Whose store it is: the host of the endpoint, or the provider. */
export function storeText({ destination_type, config: { endpoint_url, region } }: Destination): string {
  if (destination_type === "r2") return "R2 bucket of this server";
  if (endpoint_url !== null) return URL.parse(endpoint_url)?.host ?? endpoint_url;
  return `AWS S3, ${region ?? ""}`;
}
