/** One dataset: its examples in a version and a split, and the files of it. */
import { useState, useId } from "react";
import { Link, useSearchParams } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import { DeleteButton, ItemPage } from "../../resources/ItemPage.tsx";
import { ShowMore } from "../../resources/ListPage.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { EditExample } from "./EditExample.tsx";
import { EXPERIMENT_NEEDS } from "../experiments/queries.ts";
import { Examples } from "./Examples.tsx";
import {
  deleteDataset,
  download,
  type Example,
  useDataset,
  useExamples,
  useSplits,
  changeDataset,
  type Dataset,
  importFile,
  RESOURCE,
} from "./queries.ts";
import { useSetParam, Versions } from "./Versions.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { type ChosenFile, FileInput } from "./FileInput.tsx";

type Dialog = "import" | "rename" | "new";

export function DatasetPage({ id }: { id: string }) {
  const may = useMay();
  const [params] = useSearchParams();
  const set = useSetParam();
  const version = params.get("version") ?? "";
  const split = params.get("split") ?? "";
  const dataset = useDataset(id);
  const examples = useExamples(id, version, split);
  const splits = useSplits(id);
  const [dialog, setDialog] = useState<Dialog>();
  const [edited, setEdited] = useState<Example>();
  const action = useAction("datasets.read");
  const writes = may("datasets.write") && version === "";
  const close = () => setDialog(undefined);
  const { data } = dataset;
  return (
    <>
      <ItemPage
        resource={RESOURCE}
        query={dataset}
        title={data?.name}
        purpose={data?.description ?? ""}
        trouble={action.trouble}
        deletion={{
          title: `Delete ${data?.name ?? ""}?`,
          text: "Its examples and their versions are deleted. The traces of its experiments stay.",
          remove: () => deleteDataset(id),
        }}
        actions={
          <>
            {data && EXPERIMENT_NEEDS.every(may) && (
              <Link
                href={`/console/experiments/new?dataset=${id}`}
                className={`${controls.button} ${controls.plain} ${work.link}`}
              >
                Run experiment
              </Link>
            )}
            {writes && (
              <Button look="filled" onClick={() => setDialog("new")}>
                New example
              </Button>
            )}
          </>
        }
        tools={
          <>
            <Versions dataset={id} version={version} />
            <select
              className={`${controls.field} ${work.select}`}
              aria-label="Split"
              value={split}
              onChange={(event) => set("split", event.target.value)}
            >
              <option value="">All splits</option>
              {splits.data?.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            {data &&
              (["csv", "jsonl"] as const).map((format) => (
                <Button
                  key={format}
                  {...action.button}
                  onClick={() => void action.run(() => download(data, format, version))}
                >
                  Download {format.toUpperCase()}
                </Button>
              ))}
            {writes && (
              <>
                <Button onClick={() => setDialog("import")}>Import</Button>
                <Button onClick={() => setDialog("rename")}>Rename</Button>
                <DeleteButton />
              </>
            )}
          </>
        }
      >
        {() => (
          <Loaded query={examples} what="examples">
            {({ rows }) => (
              <>
                <Examples
                  dataset={id}
                  rows={rows}
                  writes={writes}
                  isFiltered={split !== "" || version !== ""}
                  onOpen={setEdited}
                />
                <ShowMore query={examples} />
              </>
            )}
          </Loaded>
        )}
      </ItemPage>
      {edited && (
        <EditExample
          key={edited.id}
          dataset={id}
          example={edited}
          writes={writes}
          onClose={() => setEdited(undefined)}
        />
      )}
      {dialog === "new" && <EditExample dataset={id} writes={writes} onClose={close} />}
      {dialog === "import" && <Import dataset={id} onClose={close} />}
      {dialog === "rename" && data && <Rename dataset={data} onClose={close} />}
    </>
  );
}

/** Dialogs of a dataset: import a file into it, and change its name. */
function Import({ dataset, onClose }: { dataset: string; onClose: () => void }) {
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

function Rename({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
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
