/** One export or schedule: how far it is, its days, and how to read it. */
import { useState } from "react";
import { Link } from "wouter";
import { useProjects } from "../../api/queries.ts";
import { Button } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { Back, Page } from "../../resources/Page.tsx";
import { Fields, Section } from "../../resources/Fields.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import { Command, Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { countText } from "../../ui/format.ts";
import { projectName } from "./columns.tsx";
import { Days } from "./Days.tsx";
import { Totals } from "./Totals.tsx";
import { everyText, jobStatus, windowText } from "./days.ts";
import { buildDuckdb, formatLocation } from "./duckdb.ts";
import own from "./exports.module.css";
import { cancelJob, useDestinations, useJob, useRuns } from "./queries.ts";
import { type Destination, isOpen, type Job } from "./types.ts";

export function JobPage({ id }: { id: string }) {
  const job = useJob(id);
  const projects = useProjects();
  const [cancelling, setCancelling] = useState(false);
  const { data } = job;
  const schedule = data !== undefined && data.interval_hours !== null;
  const name = data ? projectName(projects.data)(data) : "Export";
  return (
    <Page
      title={
        data ? `${schedule ? "Schedule" : "Export"} of ${data.session_id === null ? "all experiments" : name}` : name
      }
      purpose={data ? `${windowText(data)}${schedule ? `, ${everyText(data.interval_hours ?? 1)}` : ""}` : ""}
      back={<Back href="/console/exports" name="Exports" />}
      actions={
        data &&
        isOpen(data) && (
          <Button look="danger" onClick={() => setCancelling(true)}>
            Cancel…
          </Button>
        )
      }
    >
      <Loaded query={job} what="export">
        {(one) => <Body job={one} nameProject={(session_id) => projectName(projects.data)({ session_id })} />}
      </Loaded>
      {cancelling && data && (
        <Confirm
          title={schedule ? "Cancel this schedule?" : "Cancel this export?"}
          text={
            schedule
              ? "It makes no more exports. The exports that it has made continue."
              : "No further file is begun. Files that are complete stay in the bucket, without a manifest."
          }
          act={schedule ? "Cancel schedule" : "Cancel export"}
          needs="exports.manage"
          onAct={async () => void (await cancelJob(id))}
          onClose={() => setCancelling(false)}
        />
      )}
    </Page>
  );
}

function Body({ job, nameProject }: { job: Job; nameProject: (projectId: string) => string }) {
  const runs = useRuns(job);
  const destinations = useDestinations();
  const destination = destinations.data?.find(({ id }) => id === job.bulk_export_destination_id);
  const schedule = job.interval_hours !== null;
  return (
    <>
      {!schedule && <Totals job={job} runs={runs.data ?? []} />}
      {job.error !== null && (
        <p className={own.error} role="alert">
          {job.error}
        </p>
      )}
      {(job.late_runs ?? 0) > 0 && (
        <p className={css.note}>
          {countText(job.late_runs ?? 0)} runs of these days came or changed after they were exported. A schedule
          exports such runs with its next window.
        </p>
      )}
      <Section title={schedule ? "Exported days" : "Days"}>
        <Loaded query={runs} what="days" rows={3}>
          {(rows) => (
            <Days
              runs={rows}
              job={job}
              nameProject={nameProject}
              more={runs.hasNextPage ? () => void runs.fetchNextPage() : undefined}
            />
          )}
        </Loaded>
      </Section>
      <Section title="Query with DuckDB">
        <Loaded query={destinations} what="destinations" rows={3}>
          {() => <Query job={job} destination={destination} />}
        </Loaded>
      </Section>
      <Section title="Settings">
        <Fields
          fields={{
            Status: schedule && <State {...jobStatus(job)} />,
            Destination: destination
              ? `${destination.display_name}, ${formatLocation(destination)}`
              : destinations.data
                ? "deleted"
                : "",
            Filter: job.filter !== null && <code className={css.mono}>{job.filter}</code>,
            Columns: job.export_fields === null ? "All except feedback" : job.export_fields.join(", "),
            Compression: job.compression,
            Source:
              job.source_bulk_export_id === null ? (
                "Manual"
              ) : (
                <Link href={`/console/exports/${job.source_bulk_export_id}`}>Schedule</Link>
              ),
            Created: <Time at={job.created_at} exact />,
            Ended: job.finished_at !== null && <Time at={job.finished_at} exact />,
            ID: <span className={css.mono}>{job.id}</span>,
          }}
        />
      </Section>
    </>
  );
}

function Query({ job, destination }: { job: Job; destination: Destination | undefined }) {
  if (!destination)
    return <p className={css.note}>The destination was deleted, so the place of the files is not known.</p>;
  return (
    <>
      <p className={css.note}>
        Put the keys of the bucket into it and run it in the DuckDB shell.{" "}
        {job.interval_hours !== null &&
          "It reads all exports below the folder of the destination, and takes each run as it was exported last. "}
        For Spark, Athena and BigQuery: <a href="/docs/exports-reading">Reading an export</a>
      </p>
      <Command text={buildDuckdb(job, destination)} label="Copy the query" />
    </>
  );
}
