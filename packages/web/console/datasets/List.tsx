import { Link, useLocation } from "wouter";
import { formatCurl } from "../../api/server.ts";
import { useMay } from "../../api/me.ts";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { type Dataset, useDatasets } from "./queries.ts";
import { countText, quantityText } from "../../ui/format.ts";

const CREATE = formatCurl("/api/v1/datasets", '{"name": "questions"}');

export function List() {
  const may = useMay();
  const datasets = useDatasets();
  const [, navigate] = useLocation();
  return (
    <Page
      title="Datasets"
      purpose="Cases that your agent must get right."
      actions={
        may("datasets.write") && (
          <Link
            href="/console/datasets/new"
            className={`${controls.button} ${controls.filled} ${work.link}`}
            data-filled
          >
            New dataset
          </Link>
        )
      }
    >
      <Loaded query={datasets} what="datasets">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No datasets yet."
              text="A dataset holds examples: an input, and the output that is expected. Add runs to one from their traces, import a file with the button above, or create one with the API:"
              command={CREATE}
            />
          ) : (
            <Table
              label="Datasets"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => navigate(`/console/datasets/${id}`)}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<Dataset>[] = [
  {
    id: "name",
    name: "Name",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ id, name }) => (
      <Link href={`/console/datasets/${id}`} title={name}>
        {name}
      </Link>
    ),
  },
  {
    id: "examples",
    name: "Examples",
    width: 80,
    end: true,
    kept: true,
    cell: ({ example_count }) => countText(example_count),
  },
  {
    id: "experiments",
    name: "Experiments",
    width: 96,
    end: true,
    fact: true,
    cell: ({ session_count }, isPhone) =>
      isPhone ? quantityText(session_count, "experiment") : countText(session_count),
  },
  { id: "description", name: "Description", width: 240, cell: ({ description }) => description },
  {
    id: "changed",
    name: "Changed",
    width: 88,
    end: true,
    fact: true,
    cell: ({ modified_at }) => <Time at={modified_at} />,
  },
];
