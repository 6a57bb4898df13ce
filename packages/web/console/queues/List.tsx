import { Link, useLocation } from "wouter";
import { useMay } from "../../api/me.ts";
import { Page } from "../../resources/Page.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { type QueueRow, useQueues } from "./queries.ts";
import { countText, quantityText } from "../../ui/format.ts";

export function List() {
  const may = useMay();
  const queues = useQueues();
  const [, navigate] = useLocation();
  return (
    <Page
      title="Annotation queues"
      purpose="Runs that people review by a rubric."
      actions={
        may("queues.write") && (
          <Link href="/console/queues/new" className={`${controls.button} ${controls.filled} ${work.link}`} data-filled>
            New queue
          </Link>
        )
      }
    >
      <Loaded query={queues} what="queues">
        {(rows) =>
          rows.length === 0 ? (
            <Empty
              title="No annotation queues yet."
              text="A queue holds runs until enough people have scored them. Create one with the button above, then add runs from their traces."
            />
          ) : (
            <Table
              label="Annotation queues"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => navigate(`/console/queues/${id}`)}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

const COLUMNS: Column<QueueRow>[] = [
  {
    id: "name",
    name: "Name",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ id, name }) => (
      <Link href={`/console/queues/${id}`} title={name}>
        {name}
      </Link>
    ),
  },
  {
    id: "runs",
    name: "Runs",
    width: 64,
    end: true,
    kept: true,
    cell: ({ total_runs = 0 }) => countText(total_runs),
  },
  {
    id: "reviewers",
    name: "Reviewers",
    width: 88,
    end: true,
    fact: true,
    cell: ({ num_reviewers_per_item }, isPhone) =>
      isPhone ? quantityText(num_reviewers_per_item ?? 1, "reviewer") : (num_reviewers_per_item ?? 1),
  },
  { id: "description", name: "Description", width: 240, cell: ({ description }) => description },
  {
    id: "created",
    name: "Created",
    width: 88,
    end: true,
    fact: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];
