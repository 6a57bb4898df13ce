/** Annotation queues: the list, a new one, and the review of one. */
import { Link, useLocation } from "wouter";
import { defineResource } from "../../resources/defineResource.tsx";
import { NewPage } from "../../resources/NewPage.tsx";
import { countText, quantityText } from "../../ui/format.ts";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { QueueForm } from "./form.tsx";
import { type QueueRow, RESOURCE, useQueues } from "./queries.ts";
import { QueuePage } from "./Queue.tsx";

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
    detail: true,
    cell: ({ num_reviewers_per_item }, isPhone) =>
      isPhone ? quantityText(num_reviewers_per_item ?? 1, "reviewer") : (num_reviewers_per_item ?? 1),
  },
  { id: "description", name: "Description", width: 240, cell: ({ description }) => description },
  {
    id: "created",
    name: "Created",
    width: 88,
    end: true,
    detail: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

export default defineResource<QueueRow>(RESOURCE, {
  list: {
    purpose: "Runs that people review by a rubric.",
    what: "queues",
    useRows: useQueues,
    rowKey: ({ id }) => id,
    columns: COLUMNS,
    empty: {
      text: "A queue holds runs until enough people have scored them. Create one with the button above, then add runs from their traces.",
    },
  },
  item: QueuePage,
  create: NewQueue,
});

function NewQueue() {
  const [, navigate] = useLocation();
  return (
    <NewPage resource={RESOURCE} purpose="What reviewers score, and how many of them.">
      <QueueForm onSaved={(id) => navigate(`${RESOURCE.path}/${id}`)} onCancel={() => navigate(RESOURCE.path)} />
    </NewPage>
  );
}
