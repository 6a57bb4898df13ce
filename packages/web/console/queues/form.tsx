/** The form of a queue: a new one, or one that is there. */
import { X } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../api/me.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import parts from "../../resources/parts.module.css";
import work from "../../resources/work.module.css";
import { type Queue, saveQueue } from "./queries.ts";
import css from "./queues.module.css";
import { buildConfig, type Kind, KIND_WORDS, KINDS } from "./rubric.ts";

interface DraftItem {
  /** For React. */
  reactKey: string;
  key: string;
  description: string;
  kind: Kind;
  labels: string;
  /** The key has a configuration, which stays. */
  known: boolean;
}

const newItem = (): DraftItem => ({
  reactKey: crypto.randomUUID(),
  key: "",
  description: "",
  kind: "good-bad",
  labels: "",
  known: false,
});

const createDraft = (queue: Queue | undefined) => ({
  name: queue?.name ?? "",
  description: queue?.description ?? "",
  rubric_instructions: queue?.rubric_instructions ?? "",
  reviewers: String(queue?.num_reviewers_per_item ?? 1),
  minutes: queue && !queue.enable_reservations ? "" : String(queue?.reservation_minutes ?? 60),
});

const createItems = (queue: Queue | undefined): DraftItem[] =>
  queue
    ? queue.rubric_items.map(({ feedback_key, description, feedback_config }) => ({
        ...newItem(),
        key: feedback_key,
        description: description ?? "",
        known: feedback_config !== null,
      }))
    : [{ ...newItem(), key: "correct", description: "Is the answer right?" }];

export function QueueForm({
  queue,
  onSaved,
  onCancel,
}: {
  queue?: Queue;
  onSaved: (id: string) => void;
  onCancel: () => void;
}) {
  const [draft, setDraft] = useState(() => createDraft(queue));
  const [items, setItems] = useState(() => createItems(queue));
  // The scores of a new key are a configuration of feedback.
  const configures = items.some(({ key, known }) => key.trim() !== "" && !known);
  const action = useAction("queues.write", ...(configures ? (["traces.annotate"] as const) : []));
  const text = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => setDraft({ ...draft, [name]: event.target.value }),
  });
  const change = (reactKey: string, fields: Partial<DraftItem>) =>
    setItems(items.map((item) => (item.reactKey === reactKey ? { ...item, ...fields } : item)));
  const save = async () => {
    const named = items.filter(({ key }) => key.trim() !== "");
    if (draft.name.trim() === "") throw new Error("Write a name.");
    const saved = await saveQueue(
      queue?.id,
      {
        name: draft.name.trim(),
        description: draft.description.trim(),
        rubric_instructions: draft.rubric_instructions.trim(),
        num_reviewers_per_item: Number(draft.reviewers),
        enable_reservations: draft.minutes.trim() !== "",
        reservation_minutes: Number(draft.minutes.trim() === "" ? 60 : draft.minutes),
        rubric_items: named.map(({ key, description }) => ({ feedback_key: key.trim(), description })),
      },
      named
        .filter(({ known }) => !known)
        .map(({ key, kind, labels }) => ({ key: key.trim(), config: buildConfig(kind, labels) })),
    );
    onSaved(saved.id);
  };
  return (
    <div className={work.form}>
      <Form action={action} submit={queue ? "Save queue" : "Create queue"} onSubmit={save} onCancel={onCancel}>
        <Input label="Name" maxLength={500} {...text("name")} />
        <Input label="Description" {...text("description")} />
        <Input label="Instructions" help="What reviewers read above each run." {...text("rubric_instructions")} />
        <div className={parts.pair}>
          <Input
            label="Reviewers of each run"
            type="number"
            min={1}
            max={100}
            help="A run is completed when as many people have scored it."
            {...text("reviewers")}
          />
          <Input
            label="Reservation, minutes"
            type="number"
            min={1}
            max={10_080}
            help="A run that enough people look at is kept from others for so long. Empty: no reservations."
            {...text("minutes")}
          />
        </div>
        <fieldset className={css.rubric}>
          <legend>Rubric</legend>
          {items.map((item) => (
            <div key={item.reactKey} className={css.item}>
              <Input
                label="Key"
                maxLength={180}
                value={item.key}
                onChange={(event) => change(item.reactKey, { key: event.target.value, known: false })}
              />
              <Input
                label="Question"
                value={item.description}
                onChange={(event) => change(item.reactKey, { description: event.target.value })}
              />
              {item.known ? (
                <span className={work.note}>The key has its scores.</span>
              ) : (
                <Select
                  label="Scores"
                  value={item.kind}
                  onChange={(event) => change(item.reactKey, { kind: event.target.value as Kind })}
                >
                  {KINDS.map((kind) => (
                    <option key={kind} value={kind}>
                      {KIND_WORDS[kind]}
                    </option>
                  ))}
                </Select>
              )}
              <IconButton
                label={`Remove ${item.key}`}
                onClick={() => setItems(items.filter(({ reactKey }) => reactKey !== item.reactKey))}
              >
                <X size={16} aria-hidden />
              </IconButton>
              {!item.known && item.kind === "choices" && (
                <Input
                  label="Names of the choices"
                  help="Separated by commas. The first has the score 0."
                  value={item.labels}
                  onChange={(event) => change(item.reactKey, { labels: event.target.value })}
                />
              )}
            </div>
          ))}
          <div>
            <Button onClick={() => setItems([...items, newItem()])}>Add key</Button>
          </div>
        </fieldset>
      </Form>
    </div>
  );
}
