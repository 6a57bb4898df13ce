/** One example: its input, what is expected, its splits and its metadata. */
import { useId, useState } from "react";
import { Link } from "wouter";
import { membersFrom } from "../../traces/collect/queries.ts";
import { useAction } from "../../api/me.ts";
import { Button } from "../../ui/Button.tsx";
import { FieldInput } from "../../ui/FieldInput.tsx";
import type { FieldKind } from "../../ui/fields.ts";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { deleteExamples, type Example, writeExample } from "./queries.ts";
import { Trouble } from "../../resources/Trouble.tsx";

const asText = (value: object | null | undefined) => (value ? JSON.stringify(value, null, 2) : "");

export function EditExample({
  dataset,
  example,
  writes,
  onClose,
}: {
  dataset: string;
  /** Absent for a new one. */
  example?: Example;
  writes: boolean;
  onClose: () => void;
}) {
  const id = useId();
  const deleting = useAction("datasets.write");
  const { dataset_split: splits = [], ...about } = example?.metadata ?? {};
  const [draft, setDraft] = useState({
    inputs: example ? asText(example.inputs) : '{\n  "messages": [{"role": "user", "content": ""}]\n}',
    outputs: asText(example?.outputs),
    splits: splits.join(", "),
    metadata: Object.keys(about).length > 0 ? asText(about) : "",
  });
  const parsed = {
    inputs: membersFrom(draft.inputs),
    outputs: membersFrom(draft.outputs),
    metadata: membersFrom(draft.metadata),
  };
  const isFaulty = Object.values(parsed).some(({ error }) => error !== undefined) || !parsed.inputs.value;
  const field = (name: keyof typeof draft, label: string, kind: FieldKind, help?: string) => {
    const error = name === "splits" ? undefined : parsed[name].error;
    return (
      <FieldInput
        id={`${id}-${name}`}
        field={{ name, label, kind, ...(help !== undefined && { help }) }}
        text={draft[name]}
        {...(error !== undefined && { error })}
        onText={(text) => setDraft({ ...draft, [name]: text })}
      />
    );
  };
  return (
    <ModalForm
      title={example ? "Example" : "New example"}
      submit={example ? "Save example" : "Create example"}
      needs="datasets.write"
      disabled={!writes || isFaulty}
      onSubmit={() =>
        writeExample(dataset, example?.id, {
          inputs: parsed.inputs.value ?? {},
          outputs: parsed.outputs.value ?? null,
          metadata: parsed.metadata.value ?? {},
          split: draft.splits.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()])),
        })
      }
      onClose={onClose}
      extra={
        example &&
        writes && (
          <Button
            look="danger"
            disabled={deleting.busy}
            onClick={() =>
              void deleting.run(async () => {
                await deleteExamples([example.id]);
                onClose();
              })
            }
          >
            Delete example
          </Button>
        )
      }
    >
      {example?.source_run_id && (
        <p>
          Made of a run. <Link href={`/traces/${example.source_run_id}`}>Open its trace</Link>
        </p>
      )}
      {field("inputs", "Input", "json")}
      {field("outputs", "Expected output", "json", "Leave it empty for none.")}
      {field("splits", "Splits", "text", "Names, separated by commas.")}
      {field("metadata", "Metadata", "json")}
      <Trouble text={deleting.trouble} />
    </ModalForm>
  );
}
