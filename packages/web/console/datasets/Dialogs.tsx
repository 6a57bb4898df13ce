/** Dialogs of a dataset: import a file into it, and change its name. */
import { useId, useState } from "react";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { type ChosenFile, FileInput } from "./FileInput.tsx";
import { changeDataset, type Dataset, importFile } from "./queries.ts";

export function Import({ dataset, onClose }: { dataset: string; onClose: () => void }) {
  const [chosen, setChosen] = useState<ChosenFile>();
  return (
    <ModalForm
      title="Import examples"
      text="The examples of the file are added to the dataset, as one version."
      submit="Import file"
      needs="datasets.write"
      disabled={!chosen || chosen.incomplete}
      onSubmit={async () => {
        if (chosen) await importFile(dataset, chosen.file, chosen.mapping);
      }}
      onClose={onClose}
    >
      <FileInput
        label="File"
        help="CSV with a header, or JSON Lines: up to 20 MiB and 10,000 rows."
        onFile={setChosen}
      />
    </ModalForm>
  );
}

export function Rename({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const id = useId();
  const [name, setName] = useState(dataset.name);
  const [description, setDescription] = useState(dataset.description ?? "");
  return (
    <ModalForm
      title="Rename dataset"
      submit="Save"
      needs="datasets.write"
      disabled={name.trim() === ""}
      onSubmit={() => changeDataset(dataset.id, { name: name.trim(), description: description.trim() })}
      onClose={onClose}
    >
      <FieldInput
        id={`${id}-name`}
        field={{ name: "name", label: "Name", kind: "text" }}
        text={name}
        onText={setName}
      />
      <FieldInput
        id={`${id}-description`}
        field={{ name: "description", label: "Description", kind: "long" }}
        text={description}
        onText={setDescription}
      />
    </ModalForm>
  );
}
