/** The playground: the same messages for several models or assistants, side by side. */
import { lazy, Suspense, useEffect, useState, useRef, useId } from "react";
import { Link, useSearchParams } from "wouter";
import { useMe, useRefusal } from "../../api/me.ts";
import { useAssistants } from "../../api/queries.ts";
import { Page } from "../../resources/Page.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Button } from "../../ui/Button.tsx";
import { bindShortcuts } from "../../ui/keys.ts";
import work from "../../resources/work.module.css";
import { ColumnView } from "./Column.tsx";
import { Messages } from "./Messages.tsx";
import {
  type Column,
  keyFor,
  MOST_COLUMNS,
  newColumn,
  type Play as Held,
  type Play as PlayState,
  type Play as ToolsPlay,
} from "./play.ts";
import css from "./playground.module.css";
import { type KnownModel, useModels, pull } from "./queries.ts";
import { type Playing, usePlay } from "./usePlay.ts";
import { Variables } from "./Variables.tsx";
import { readPrompt } from "../../../../src/agents/prompts/chat-manifest.ts";
import { playFromPrompt } from "./sources.ts";
import { Trouble } from "../../resources/Trouble.tsx";
import controls from "../../ui/controls.module.css";
import { parseTools } from "./request.ts";

const Save = lazy(async () => ({ default: (await import("./Save.tsx")).Save }));

export default function Playground() {
  const me = useMe();
  if (me.data) return <Play key={keyFor(me.data)} keptAs={keyFor(me.data)} />;
  return (
    <Page title="Playground">
      <Loaded query={me} what="account">
        {() => null}
      </Loaded>
    </Page>
  );
}

function Play({ keptAs }: { keptAs: string }) {
  const models = useModels();
  const assistants = useAssistants();
  const playing = usePlay(keptAs);
  const trouble = useOpenPrompt(playing.open);
  const [saving, setSaving] = useState(false);
  const [saved, setSaved] = useState<{ name: string; hash: string }>();
  const { play, change, run, stop } = playing;
  const columns = play.columns.map((column) => chosen(column, models.data));
  const isRunning = columns.some(({ result }) => result?.state === "running");
  const [runRefusal, saveRefusal] = [useRefusal("runs.create"), useRefusal("prompts.write")];
  const mayRun = runRefusal === undefined;
  const runAll = () => columns.forEach(run);
  useShortcut(() => mayRun && models.data && runAll());
  return (
    <Page
      title="Playground"
      purpose="Try messages with models and assistants, side by side."
      actions={
        <>
          {isRunning && <Button onClick={() => columns.forEach(({ id }) => stop(id))}>Stop all</Button>}
          <Button look="filled" disabled={!mayRun || !models.data} title={runRefusal ?? "Ctrl Enter"} onClick={runAll}>
            Run all
          </Button>
        </>
      }
      tools={
        <>
          <Button disabled={columns.length >= MOST_COLUMNS} onClick={() => change(addColumn)}>
            Add column
          </Button>
          <Button disabled={saveRefusal !== undefined} title={saveRefusal} onClick={() => setSaving(true)}>
            Save as commit
          </Button>
        </>
      }
    >
      <Notices playing={playing} trouble={trouble} saved={saved} mayRun={mayRun} />
      <div className={css.shared}>
        <Messages play={play} onChange={change} />
        <div className={css.beside}>
          <Variables play={play} onChange={change} />
          <Tools play={play} onChange={change} />
        </div>
      </div>
      <div className={css.columns}>
        {columns.map((column, at) => (
          <ColumnView
            key={column.id}
            column={column}
            number={at + 1}
            models={models.data ?? []}
            assistants={assistants.data ?? []}
            apiKey={playing.keys[column.id] ?? ""}
            isOnly={columns.length === 1}
            mayRun={mayRun && models.data !== undefined}
            playing={playing}
          />
        ))}
      </div>
      <Suspense>
        {saving && (
          <Save
            play={{ ...play, columns }}
            onSaved={(name, hash) => {
              setSaved({ name, hash });
              change((held) => ({ ...held, from: { kind: "prompt", name, hash } }));
            }}
            onClose={() => setSaving(false)}
          />
        )}
      </Suspense>
    </Page>
  );
}

/** A new column has the settings of the last one. */
const addColumn = (play: Held): Held =>
  play.columns.length >= MOST_COLUMNS ? play : { ...play, columns: [...play.columns, newColumn(play.columns.at(-1))] };

/** The column with the first model that the deployment has, where none is chosen. */
function chosen(column: Column, models: KnownModel[] = []): Column {
  const known = models.filter(({ is_available }) => is_available);
  const usual = known.find(({ provider }) => provider !== "offline") ?? known[0];
  if (column.provider !== undefined || !usual) return column;
  return { ...column, provider: usual.provider, model: column.model || usual.model };
}

function useShortcut(run: () => void): void {
  useEffect(() =>
    bindShortcuts({
      "$mod+Enter": (event) => {
        // A dialog over the page has its own.
        if (document.querySelector("[role=dialog]")) return;
        event.preventDefault();
        run();
      },
    }),
  );
}

function Notices({
  playing: { play, before, restore },
  trouble,
  saved,
  mayRun,
}: {
  playing: Playing;
  trouble: string;
  saved: { name: string; hash: string } | undefined;
  mayRun: boolean;
}) {
  const { from } = play;
  return (
    <div className={css.notices}>
      {!mayRun && <p className={work.none}>You may not run models here: that needs the permission runs.create.</p>}
      {from && (
        <p className={work.none}>
          {from.kind === "run" ? (
            <>
              From the run <Link href={`/traces/${from.id}`}>{from.name}</Link>.
            </>
          ) : (
            <>
              From{" "}
              <Link href={`/console/prompts/${encodeURIComponent(from.name)}?commit=${from.hash.slice(0, 8)}`}>
                {from.name}, commit {from.hash.slice(0, 8)}
              </Link>
              .
            </>
          )}
        </p>
      )}
      {before && (
        <p className={work.none}>
          Other messages were here before. <Button onClick={restore}>Restore them</Button>
        </p>
      )}
      <Trouble text={trouble} />
      <p className={work.none} role="status">
        {saved && `Saved as commit ${saved.hash.slice(0, 8)} of ${saved.name}.`}
      </p>
    </div>
  );
}

// Opens the commit of a prompt that the address names: `?prompt=<name>&commit=<hash or tag>`.

/** Why the commit was not opened; empty where nothing failed. */
export function useOpenPrompt(open: (play: PlayState) => void): string {
  const [search, setSearch] = useSearchParams();
  const [trouble, setTrouble] = useState("");
  const name = search.get("prompt");
  const word = search.get("commit") ?? "latest";
  const latest = useRef(open);
  useEffect(() => {
    latest.current = open;
  });
  useEffect(() => {
    if (name === null) return undefined;
    const leave = new AbortController();
    void pull(name, word, leave.signal)
      .then(({ commit_hash: hash, manifest }) => {
        const prompt = readPrompt(manifest);
        if (!prompt) throw new Error(`${name} is no prompt with messages. It is not opened.`);
        latest.current(playFromPrompt(prompt, { name, hash }));
        // A reload keeps what was edited, and does not open the commit again.
        setSearch({}, { replace: true });
      })
      .catch((error: unknown) => {
        if (!leave.signal.aborted) setTrouble(error instanceof Error ? error.message : "The prompt did not load.");
      });
    return () => leave.abort();
  }, [name, word, setSearch]);
  return trouble;
}

/** The tools that are described to all models. */
export function Tools({
  play,
  onChange,
}: {
  play: ToolsPlay;
  onChange: (next: (play: ToolsPlay) => ToolsPlay) => void;
}) {
  const id = useId();
  const { count, fault } = read(play);
  return (
    <details className={work.section} open={play.tools !== ""}>
      <summary>{count === 0 ? "Tools" : `Tools (${count})`}</summary>
      <div className={controls.row}>
        <label htmlFor={id} className={controls.label}>
          Tools as JSON
        </label>
        <textarea
          id={id}
          className={`${controls.field} ${controls.json}`}
          rows={Math.min(12, play.tools.split("\n").length + 1)}
          spellCheck={false}
          value={play.tools}
          placeholder='[{"type": "function", "function": {"name": "…", "parameters": {}}}]'
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-note`}
          onChange={(event) => {
            const tools = event.target.value;
            onChange((held) => ({ ...held, tools }));
          }}
        />
        <p id={`${id}-note`} className={fault === undefined ? controls.help : controls.error}>
          {fault ?? "Described to the models. Assistants have their own."}
        </p>
      </div>
    </details>
  );
}

function read(play: ToolsPlay): { count: number; fault?: string } {
  try {
    return { count: parseTools(play).length };
  } catch (error) {
    return { count: 0, fault: error instanceof Error ? error.message : "The tools cannot be read." };
  }
}
