/** The dialog that adds one run or several to a dataset or a queue. */
import { useId, useState } from "react";
import { FieldInput } from "../../ui/FieldInput.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Loaded } from "../../resources/states.tsx";
import { outputIn } from "../../../../src/agents/evaluation/evaluators.ts";
import {
  answering,
  asMembers,
  membersFrom,
  addRuns,
  type Collected,
  createExample,
  type Target,
  TARGET_PERMISSIONS,
  type TargetKind,
  useTargets,
  createTarget,
} from "./queries.ts";
import { countText } from "../../ui/format.ts";
import { Button } from "../../ui/Button.tsx";
import css from "./collect.module.css";
import controls from "../../ui/controls.module.css";

/** Input and output of a run. */
interface Content {
  inputs: unknown;
  outputs: unknown;
}

interface Props {
  kind: TargetKind;
  runs: Collected[];
  /** A single run only: its example can be edited before it is added. */
  content?: Content;
  onClose: () => void;
}

/** Characters. A larger run is added as it is. */
const MOST = 100_000;

export function AddRuns(props: Props) {
  const targets = useTargets(props.kind);
  const title = `Add to ${props.kind}`;
  if (targets.data) return <Adding {...props} title={title} targets={targets.data} />;
  return (
    <Modal title={title} onClose={props.onClose}>
      <Loaded query={targets} what={`${props.kind}s`} rows={3}>
        {() => null}
      </Loaded>
    </Modal>
  );
}

function Adding({ kind, runs, content, onClose, title, targets }: Props & { title: string; targets: Target[] }) {
  const id = useId();
  const [choice, setChoice] = useState(() => firstChoice(kind, targets));
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [split, setSplit] = useState("");
  const [draft, setDraft] = useState(() => (kind === "dataset" && content ? createDraft(content) : undefined));
  const chosen = runs.filter((run) => !left.has(run.id));
  const inputs = membersFrom(draft?.inputs ?? "");
  const outputs = draft && !draft.asText ? membersFrom(draft.outputs) : {};
  const fault = inputs.error ?? outputs.error ?? (draft && !inputs.value ? "The input is empty." : undefined);
  const [only] = runs;
  return (
    <ModalForm
      title={title}
      needs={TARGET_PERMISSIONS[kind]}
      submit={chosen.length === 1 ? "Add run" : `Add ${countText(chosen.length)} runs`}
      disabled={chosen.length === 0 || !isChosen(choice) || fault !== undefined}
      onSubmit={async () => {
        const target = await ensureTarget(kind, choice);
        setChoice({ id: target, name: "" });
        const named = split.trim() === "" ? undefined : split.trim();
        if (!draft || !only || !inputs.value) return addRuns(kind, target, chosen, named);
        const expected = draft.asText ? answering(draft.answer) : outputs.value;
        await createExample(target, {
          inputs: inputs.value,
          source_run_id: only.id,
          ...(expected && { outputs: expected }),
          ...(named !== undefined && { split: named }),
        });
      }}
      onClose={onClose}
    >
      <TargetSelect kind={kind} targets={targets} choice={choice} onChoice={setChoice} />
      {runs.length > 1 && <ChooseRuns runs={runs} left={left} onLeft={setLeft} />}
      {draft && (
        <>
          <FieldInput
            id={`${id}-inputs`}
            field={{ name: "inputs", label: "Input", kind: "json" }}
            text={draft.inputs}
            {...(inputs.error !== undefined && { error: inputs.error })}
            onText={(text) => setDraft({ ...draft, inputs: text })}
          />
          {draft.asText ? (
            <FieldInput
              id={`${id}-answer`}
              field={{
                name: "answer",
                label: "Expected answer",
                kind: "long",
                help: "What the assistant should have answered. Evaluators compare with it.",
              }}
              text={draft.answer}
              onText={(text) => setDraft({ ...draft, answer: text })}
            />
          ) : (
            <FieldInput
              id={`${id}-outputs`}
              field={{ name: "outputs", label: "Expected output", kind: "json", help: "Leave it empty for none." }}
              text={draft.outputs}
              {...(outputs.error !== undefined && { error: outputs.error })}
              onText={(text) => setDraft({ ...draft, outputs: text })}
            />
          )}
        </>
      )}
      {kind === "dataset" && (
        <FieldInput
          id={`${id}-split`}
          field={{
            name: "split",
            label: "Split",
            kind: "text",
            help: "A name for a part of the dataset. May be empty.",
          }}
          text={split}
          onText={setSplit}
        />
      )}
    </ModalForm>
  );
}

/** The example as it is edited; undefined where it is too large for that. */
function createDraft({ inputs, outputs }: Content) {
  const answer = outputIn(outputs);
  const draft = {
    inputs: inputs === null ? "" : JSON.stringify(asMembers(inputs, "input"), null, 2),
    outputs: outputs === null ? "" : JSON.stringify(asMembers(outputs, "output"), null, 2),
    asText: answer !== undefined,
    answer: answer ?? "",
  };
  return draft.inputs.length + draft.outputs.length > MOST ? undefined : draft;
}

/** Which of the found runs are added. */
export function ChooseRuns({
  runs,
  left,
  onLeft,
}: {
  runs: Collected[];
  /** Ids of the runs that are left out. */
  left: ReadonlySet<string>;
  onLeft: (left: ReadonlySet<string>) => void;
}) {
  const id = useId();
  const toggle = (run: string) => {
    const next = new Set(left);
    if (!next.delete(run)) next.add(run);
    onLeft(next);
  };
  return (
    <fieldset className={css.runs} aria-describedby={id}>
      <legend>Runs</legend>
      <p id={id} className={css.count}>
        {countText(runs.length - left.size)} of {countText(runs.length)} found
        <Button
          look="quiet"
          onClick={() => onLeft(left.size === 0 ? new Set(runs.map((run) => run.id)) : new Set<string>())}
        >
          {left.size === 0 ? "Select none" : "Select all"}
        </Button>
      </p>
      <ul>
        {runs.map((run) => (
          <li key={run.id}>
            <label>
              <input type="checkbox" checked={!left.has(run.id)} onChange={() => toggle(run.id)} />
              <span className="line">
                {run.name} <small>{run.preview}</small>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

// The choice of a dataset or a queue, which may be a new one.

/** The choice: an id, or the name of a new one. */
export interface Choice {
  id: string;
  name: string;
}

const NEW = "new";
const WORDS: Record<TargetKind, string> = { dataset: "Dataset", queue: "Queue" };
const storageKey = (kind: TargetKind) => `weir.collect.${kind}`;

/** The one that was added to last, else the newest. */
export function firstChoice(kind: TargetKind, targets: Target[]): Choice {
  const last = localStorage.getItem(storageKey(kind));
  const id = targets.find((target) => target.id === last)?.id ?? targets[0]?.id ?? NEW;
  return { id, name: "" };
}

export const isChosen = ({ id, name }: Choice) => id !== NEW || name.trim() !== "";

/** The id of the choice. A new one is created first. */
export async function ensureTarget(kind: TargetKind, { id, name }: Choice): Promise<string> {
  const target = id === NEW ? (await createTarget(kind, name.trim())).id : id;
  localStorage.setItem(storageKey(kind), target);
  return target;
}

export function TargetSelect({
  kind,
  targets,
  choice,
  onChoice,
}: {
  kind: TargetKind;
  targets: Target[];
  choice: Choice;
  onChoice: (choice: Choice) => void;
}) {
  const id = useId();
  return (
    <>
      <div className={controls.row}>
        <label htmlFor={id} className={controls.label}>
          {WORDS[kind]}
        </label>
        <select
          id={id}
          className={controls.field}
          value={choice.id}
          onChange={(event) => onChoice({ ...choice, id: event.target.value })}
        >
          {targets.map((target) => (
            <option key={target.id} value={target.id}>
              {target.name}
            </option>
          ))}
          <option value={NEW}>New {kind}</option>
        </select>
      </div>
      {choice.id === NEW && (
        <FieldInput
          id={`${id}-name`}
          field={{ name: "name", label: `Name of the new ${kind}`, kind: "text" }}
          text={choice.name}
          onText={(name) => onChoice({ ...choice, name })}
        />
      )}
    </>
  );
}
