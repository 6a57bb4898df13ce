/** Exports, schedules and destinations of the workspace. */
import { useLocation, useSearchParams } from "wouter";
import { formatCurl } from "../../api/server.ts";
import { useProjects } from "../../api/queries.ts";
import { Button } from "../../ui/Button.tsx";
import { Missing } from "../../resources/Secret.tsx";
import { Page } from "../../resources/Page.tsx";
import css from "../../resources/parts.module.css";
import { Section } from "../../resources/Fields.tsx";
import { Command, Empty, Loaded } from "../../resources/states.tsx";
import { Table } from "../../ui/Table.tsx";
import { destinationColumns, jobColumns, projectName, scheduleColumns } from "./columns.tsx";
import { CreateDestination } from "./CreateDestination.tsx";
import { CreateExport } from "./CreateExport.tsx";
import { DestinationDetails } from "./DestinationDetails.tsx";
import { useDestinations, useJobs } from "./queries.ts";
import { ShowMore } from "../../resources/ListPage.tsx";

const PATH = "/console/exports";

export function List({ dialog }: { dialog: string | undefined }) {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const jobs = useJobs();
  const destinations = useDestinations();
  const projects = useProjects();
  const close = () => navigate(PATH);
  const nameProject = projectName(projects.data);
  const placed = destinations.data && new Map(destinations.data.map((one) => [one.id, one.display_name]));
  const wanted = params.get("destination");
  const open = destinations.data?.find(({ id }) => id === wanted);
  const none = destinations.data?.length === 0;
  return (
    <Page
      title="Exports"
      purpose="Copy traces to your bucket as Parquet files, once or on a schedule."
      actions={
        <Button look="filled" onClick={() => navigate(none ? `${PATH}/new-destination` : `${PATH}/new`)}>
          {none ? "New destination" : "New export"}
        </Button>
      }
      aside={
        <>
          <h2>Files in the bucket</h2>
          <p>
            One folder for each project and day, and a manifest that is written last. Any tool that reads Parquet can
            read them: <a href="/docs/exports-reading">Reading an export</a>
          </p>
          <h2>Exports with the API</h2>
          <Command label="Copy the request" text={formatCurl("/api/v1/bulk-exports")} />
        </>
      }
    >
      <Loaded query={jobs} what="exports">
        {(all) => {
          const schedules = all.filter(({ interval_hours }) => interval_hours !== null);
          const rows = all.filter(({ interval_hours }) => interval_hours === null);
          if (all.length === 0)
            return (
              <Empty
                title="No exports yet."
                text={
                  none
                    ? "An export writes to a destination: an S3 bucket, or the R2 bucket of this server. Create a destination first."
                    : "An export copies the traces of a project, day by day, to a destination. Each run is in the files exactly once."
                }
              />
            );
          return (
            <>
              {rows.length > 0 && (
                <Section title="Exports">
                  <Table
                    label="Exports"
                    columns={jobColumns(nameProject)}
                    rows={rows}
                    rowKey={(row) => row.id}
                    onOpen={(row) => navigate(`${PATH}/${row.id}`)}
                  />
                </Section>
              )}
              <ShowMore query={jobs} />
              {schedules.length > 0 && (
                <Section title="Schedules">
                  <Table
                    label="Schedules"
                    columns={scheduleColumns(nameProject, placed)}
                    rows={schedules}
                    rowKey={(row) => row.id}
                    onOpen={(row) => navigate(`${PATH}/${row.id}`)}
                  />
                </Section>
              )}
            </>
          );
        }}
      </Loaded>
      <Section
        title="Destinations"
        act={!none && <Button onClick={() => navigate(`${PATH}/new-destination`)}>New destination</Button>}
      >
        <Loaded query={destinations} what="destinations" rows={2}>
          {(rows) =>
            rows.length === 0 ? (
              <p className={css.note}>
                No destinations yet. A small object is written to check one before it is kept. Its credentials are
                encrypted and never shown.
              </p>
            ) : (
              <Table
                label="Destinations"
                columns={destinationColumns()}
                rows={rows}
                rowKey={(row) => row.id}
                openKey={wanted ?? undefined}
                onOpen={(row) => navigate(`${PATH}?destination=${row.id}`)}
              />
            )
          }
        </Loaded>
      </Section>
      {dialog === "new" && destinations.data && (
        <CreateExport destinations={destinations.data} onMade={(id) => navigate(`${PATH}/${id}`)} onClose={close} />
      )}
      {dialog === "new-destination" && <CreateDestination onClose={close} />}
      {open && <DestinationDetails key={open.id} destination={open} onClose={close} />}
      {wanted !== null && destinations.data && !open && <Missing what="destination" onClose={close} />}
    </Page>
  );
}
