/** A new dataset: empty, or made of a file. */
import { useState } from "react";
import { useLocation } from "wouter";
import { Back, Page } from "../../resources/Page.tsx";
import { useAction } from "../../api/me.ts";
import { Form, Input } from "../../resources/Form.tsx";
import work from "../../resources/work.module.css";
import { type ChosenFile, FileInput } from "./FileInput.tsx";
import { changeDataset, createDataset, uploadDataset } from "./queries.ts";

export function New() {
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
    <Page
      title="New dataset"
      purpose="Empty, or with the examples of a file."
      back={<Back href="/console/datasets" name="Datasets" />}
    >
      <div className={work.form}>
        <Form
          action={action}
          submit="Create dataset"
          onSubmit={async () => navigate(`/console/datasets/${(await create()).id}`)}
          onCancel={() => navigate("/console/datasets")}
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
    </Page>
  );
}
