/** Datasets: the list, a new one, and the examples of one. */
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useAction } from "../../api/me.ts";
import { formatCurl } from "../../api/server.ts";
import { defineResource } from "../../resources/defineResource.tsx";
import { Form, Input } from "../../resources/Form.tsx";
import { NewPage } from "../../resources/NewPage.tsx";
import work from "../../resources/work.module.css";
import { countText, quantityText } from "../../ui/format.ts";
import type { Column } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { DatasetPage } from "./Dataset.tsx";
import { type ChosenFile, FileInput } from "./FileInput.tsx";
import { changeDataset, createDataset, type Dataset, RESOURCE, uploadDataset, useDatasets } from "./queries.ts";

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
    detail: true,
    cell: ({ session_count }, isPhone) =>
      isPhone ? quantityText(session_count, "experiment") : countText(session_count),
  },
  { id: "description", name: "Description", width: 240, cell: ({ description }) => description },
  {
    id: "changed",
    name: "Changed",
    width: 88,
    end: true,
    detail: true,
    cell: ({ modified_at }) => <Time at={modified_at} />,
  },
];

export default defineResource<Dataset>(RESOURCE, {
  list: {
    purpose: "Cases that your agent must get right.",
    useRows: useDatasets,
    rowKey: ({ id }) => id,
    columns: COLUMNS,
    empty: {
      text: "A dataset holds examples: an input, and the output that is expected. Add runs to one from their traces, import a file with the button above, or create one with the API:",
      command: formatCurl("/api/v1/datasets", '{"name": "questions"}'),
    },
  },
  item: DatasetPage,
  create: NewDataset,
});

/** A new dataset: empty, or made of a file. */
function NewDataset() {
  const [, navigate] = useLocation();
  const action = useAction("datasets.write");
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [chosen, setChosen] = useState<ChosenFile>();
  const create = async () => {
    const given = { name: name.trim(), description: description.trim() };
    if (given.name === "") throw new Error("Write a name.");
    if (chosen?.incomplete) throw new Error("Choose at least one column as the input.");
    if (!chosen) return createDataset(given.name, given.description);
    const made = await uploadDataset(chosen.file, given.name, chosen.mapping);
    if (given.description !== "") await changeDataset(made.id, given);
    return made;
  };
  return (
    <NewPage resource={RESOURCE} purpose="Empty, or with the examples of a file.">
      <div className={work.form}>
        <Form
          action={action}
          submit="Create dataset"
          onSubmit={async () => navigate(`${RESOURCE.path}/${(await create()).id}`)}
          onCancel={() => navigate(RESOURCE.path)}
        >
          <Input label="Name" value={name} maxLength={500} onChange={(event) => setName(event.target.value)} />
          <Input
            label="Description"
            value={description}
            maxLength={10_000}
            onChange={(event) => setDescription(event.target.value)}
          />
          <FileInput
            label="File (optional)"
            help="CSV with a header, or JSON Lines: up to 20 MiB and 10,000 rows."
            onFile={(file) => {
              setChosen(file);
              if (file && name === "") setName(file.file.name.replace(/\.[a-z]+$/i, ""));
            }}
          />
        </Form>
      </div>
    </NewPage>
  );
}
