/** The dialog that commits the messages: as a new prompt, or as the next commit of one, with what it changes. */
import { useId, useMemo, useState } from "react";
import { readPrompt, writePrompt } from "../../../../src/agents/prompts/chat-manifest.ts";
import controls from "../../ui/controls.module.css";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { Changes } from "../../resources/changes/Changes.tsx";
import { usePrompts } from "../prompts/queries.ts";
import work from "../../resources/work.module.css";
import { toPrompt } from "./sources.ts";
import type { Play } from "./play.ts";
import { commit, useLatest } from "./queries.ts";

interface Props {
  play: Play;
  onSaved: (name: string, hash: string) => void;
  onClose: () => void;
}

const NONE = "";

export function Save({ play, onSaved, onClose }: Props) {
  const id = useId();
  const prompts = usePrompts();
  const [chosen, setChosen] = useState(play.from?.kind === "prompt" ? play.from.name : NONE);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [columnId, setColumnId] = useState(NONE);
  const latest = useLatest(chosen === NONE ? undefined : chosen);
  const models = play.columns.filter(({ provider }) => provider !== "assistant");
  const { manifest, fault } = useMemo(() => {
    try {
      return {
        manifest: writePrompt(
          toPrompt(
            play,
            play.columns.find((one) => one.id === columnId),
          ),
        ),
      };
    } catch (error) {
      return { fault: error instanceof Error ? error.message : "The messages cannot be saved." };
    }
  }, [play, columnId]);
  const listed = new Set((prompts.data?.rows ?? []).map(({ repo_handle }) => repo_handle));
  if (chosen !== NONE) listed.add(chosen);
  const isNew = chosen === NONE;
  const parent = latest.data?.commit_hash;
  return (
    <ModalForm
      title="Save as commit"
      submit="Commit"
      needs="prompts.write"
      disabled={manifest === undefined || (isNew ? name.trim() === "" : latest.data === undefined)}
      onSubmit={async () => {
        const target = isNew ? name.trim() : chosen;
        const about = { name: target, isNew, manifest: manifest ?? {}, description: description.trim() };
        onSaved(target, await commit({ ...about, parent: isNew ? undefined : parent }));
      }}
      onClose={onClose}
    >
      <div className={controls.row}>
        <label htmlFor={`${id}-prompt`} className={controls.label}>
          Prompt
        </label>
        <select
          id={`${id}-prompt`}
          className={controls.field}
          value={chosen}
          onChange={(event) => setChosen(event.target.value)}
        >
          <option value={NONE}>New prompt</option>
          {[...listed].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </div>
      {isNew && (
        <div className={controls.row}>
          <label htmlFor={`${id}-name`} className={controls.label}>
            Name
          </label>
          <input
            id={`${id}-name`}
            className={controls.field}
            autoComplete="off"
            placeholder="answers"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
      )}
      <div className={controls.row}>
        <label htmlFor={`${id}-about`} className={controls.label}>
          Description of the commit
        </label>
        <input
          id={`${id}-about`}
          className={controls.field}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </div>
      <div className={controls.row}>
        <label htmlFor={`${id}-model`} className={controls.label}>
          With the model and tools
        </label>
        <select
          id={`${id}-model`}
          className={controls.field}
          value={columnId}
          onChange={(event) => setColumnId(event.target.value)}
        >
          <option value={NONE}>None: the messages alone</option>
          {models.map((column) => (
            <option key={column.id} value={column.id}>
              Of column {play.columns.indexOf(column) + 1}: {column.model || "the offline model"}
            </option>
          ))}
        </select>
      </div>
      {fault !== undefined && <p className={work.trouble}>{fault}</p>}
      {latest.error && <p className={work.trouble}>{latest.error.message}</p>}
      {!isNew && latest.data === null && <p className={work.none}>This is its first commit.</p>}
      {!isNew && latest.data && manifest && (
        <Changes
          title={`Changes from ${latest.data.commit_hash.slice(0, 8)}`}
          same="It is the same as the latest commit."
          before={showManifest(latest.data.manifest)}
          now={showManifest(manifest)}
        />
      )}
    </ModalForm>
  );
}

/** Messages, tools and model instead of LangChain's serialized form. */
const showManifest = (manifest: Record<string, unknown>): object => readPrompt(manifest) ?? manifest;
