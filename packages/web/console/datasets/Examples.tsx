/** The examples of a dataset. Those that are selected are put into a split, or deleted. */
import { useId, useState } from "react";
import { Empty } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button, LinkButton } from "../../ui/Button.tsx";
import { Confirm } from "../../resources/Confirm.tsx";
import { countText, quantityText } from "../../ui/format.ts";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import css from "./datasets.module.css";
import { briefly } from "../../traces/trace/messages.ts";
import { changeSplit, deleteExamples, type Example } from "./queries.ts";

export function Examples({
  dataset,
  rows,
  writes,
  isFiltered,
  onOpen,
}: {
  dataset: string;
  rows: Example[];
  writes: boolean;
  isFiltered: boolean;
  onOpen: (example: Example) => void;
}) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<"split" | "delete">();
  const ids = rows.flatMap(({ id }) => (selected.has(id) ? [id] : []));
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  if (rows.length === 0)
    return isFiltered ? (
      <Empty title="No examples here." text="This version or split has none. Choose another one above." />
    ) : (
      <Empty title="No examples yet." text="Add runs from their traces, import a file, or write one." />
    );
  return (
    <>
      {ids.length > 0 && (
        <div className={css.selected}>
          <span role="status">{countText(ids.length)} selected</span>
          <Button onClick={() => setDialog("split")}>Change split</Button>
          <Button look="danger" onClick={() => setDialog("delete")}>
            Delete selected
          </Button>
        </div>
      )}
      <Table
        label="Examples"
        columns={buildColumns(writes ? selected : undefined, toggle, onOpen)}
        rows={rows}
        rowKey={({ id }) => id}
        onOpen={onOpen}
      />
      {dialog === "split" && (
        <Split dataset={dataset} ids={ids} onDone={() => setSelected(new Set())} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "delete" && (
        <Confirm
          title={`Delete ${quantityText(ids.length, "example")}?`}
          text="They stay in older versions of the dataset."
          act="Delete examples"
          needs="datasets.write"
          onAct={async () => {
            await deleteExamples(ids);
            setSelected(new Set());
          }}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}

function Split({
  dataset,
  ids,
  onDone,
  onClose,
}: {
  dataset: string;
  ids: string[];
  onDone: () => void;
  onClose: () => void;
}) {
  const id = useId();
  const [name, setName] = useState("");
  const [remove, setRemove] = useState("false");
  return (
    <ModalForm
      title="Change split"
      submit={remove === "true" ? "Remove from split" : "Add to split"}
      needs="datasets.write"
      disabled={name.trim() === ""}
      onSubmit={async () => {
        await changeSplit(dataset, name.trim(), ids, remove === "true");
        onDone();
      }}
      onClose={onClose}
    >
      <FieldInput
        id={`${id}-name`}
        field={{ name: "name", label: "Split", kind: "text" }}
        text={name}
        onText={setName}
      />
      <FieldInput
        id={`${id}-remove`}
        field={{ name: "remove", label: "Remove from it", kind: "boolean" }}
        text={remove}
        onText={setRemove}
      />
    </ModalForm>
  );
}

function buildColumns(
  selected: ReadonlySet<string> | undefined,
  toggle: (id: string) => void,
  onOpen: (example: Example) => void,
): Column<Example>[] {
  return [
    ...(selected
      ? [
          {
            id: "selected",
            name: "",
            width: 40,
            kept: true,
            cell: ({ id, inputs }: Example) => (
              <input
                type="checkbox"
                className={css.check}
                aria-label={`Select ${briefly(inputs)}`}
                checked={selected.has(id)}
                onChange={() => toggle(id)}
              />
            ),
          },
        ]
      : []),
    {
      id: "inputs",
      name: "Input",
      width: 160,
      kept: true,
      grows: true,
      cell: (example) => (
        <LinkButton className={css.open} onClick={() => onOpen(example)}>
          {briefly(example.inputs)}
        </LinkButton>
      ),
    },
    { id: "outputs", name: "Expected", width: 280, cell: ({ outputs }) => briefly(outputs) },
    { id: "splits", name: "Splits", width: 104, cell: ({ metadata }) => metadata?.dataset_split?.join(", ") },
    { id: "changed", name: "Changed", width: 88, end: true, cell: ({ modified_at }) => <Time at={modified_at} /> },
  ];
}
