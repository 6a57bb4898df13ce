/** Opens everything by name: pages, assistants, threads, projects, an id, and what the frame does. */
import { Command, defaultFilter } from "cmdk";
import { Dialog } from "radix-ui";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAssistants, useThreads, useProjects } from "../api/queries.ts";
import { chooseAssistant } from "../chat/header/assistant.ts";
import { resolveAddress } from "../api/server.ts";
import { useMay } from "../api/me.ts";
import { threadTitle } from "../chat/thread-row.ts";
import type { ThreadRow } from "../api/types.ts";
import dialog from "../ui/dialog.module.css";
import { agoTime, exactTime } from "../ui/time.ts";
import css from "./Palette.module.css";
import { useSignOut } from "./sign-out.ts";
import { chooseTheme, type Theme, useTheme } from "./theme.ts";
import { useViews } from "./Nav.tsx";
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import type { TraceRow } from "../traces/types.ts";
import { useLater } from "../ui/later.ts";

/** A thread or trace that the server found by its contents comes after all that have the words in their name. */
const CONTENTS = 0.01;

function score(value: string, search: string, keywords?: string[]): number {
  const named = defaultFilter(value, search);
  return named > 0 ? named : defaultFilter("", search, keywords) * CONTENTS;
}

const isNamed = (thread: ThreadRow, words: string) => threadTitle(thread).toLowerCase().includes(words.toLowerCase());

const THEMES: Theme[] = ["light", "dark", "system"];

/** Threads of one title are distinguished by their last change and their assistant. */
function describeThread({ updated_at, metadata }: ThreadRow): string {
  const graph = metadata?.graph_id;
  return [...(typeof graph === "string" ? [graph] : []), agoTime(updated_at)].join(" · ");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export default function Palette({
  range,
  onClose,
  onKeys,
}: {
  /** The part of an address that views with a time range get. */
  range: string;
  onClose: () => void;
  onKeys: () => void;
}) {
  const views = useViews();
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const threads = useThreads(true);
  const assistants = useAssistants();
  const projects = useProjects();
  const found = useFound(UUID.test(text.trim()) ? "" : text);
  // One that has the words in its title is found by that, and stays the item that it is.
  const contain = found.threads.filter((thread) => !isNamed(thread, found.words));
  const isContaining = new Set(contain.map(({ thread_id }) => thread_id));
  const known = threads.data?.pages.flat() ?? [];
  const isKnown = new Set(known.map(({ thread_id }) => thread_id));
  const named = found.threads.filter((one) => !isContaining.has(one.thread_id) && !isKnown.has(one.thread_id));
  const listed = [...known, ...named].filter(({ thread_id }) => !isContaining.has(thread_id));
  const go = (path: string) => () => {
    onClose();
    navigate(path);
  };
  const visit = (address: string) => () => {
    onClose();
    open(address, "_blank", "noopener");
  };
  const may = useMay();
  const theme = useTheme();
  const leave = useSignOut();
  const id = text.trim();
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={dialog.overlay} />
        <Dialog.Content className={css.box} aria-describedby={undefined}>
          <Dialog.Title className="visually-hidden">Go to</Dialog.Title>
          <Command label="Go to" loop filter={score}>
            <Command.Input
              className={css.input}
              placeholder="Page, thread, assistant, project, action or id"
              value={text}
              onValueChange={setText}
            />
            <Command.List className={css.list}>
              <Command.Empty className={css.none}>
                {found.searching ? "Searching…" : "No page, thread, trace, assistant or project has these words."}
              </Command.Empty>
              {UUID.test(id) && (
                <Command.Group heading="Id">
                  <Item name={`Open trace ${id}`} onSelect={go(`/traces/${id}`)} />
                  <Item name={`Open thread ${id}`} onSelect={go(`/chat/${id}`)} />
                </Command.Group>
              )}
              <Command.Group heading="Pages">
                {views.map((view) => (
                  <Item
                    key={view.path}
                    name={view.name}
                    note={view.purpose}
                    onSelect={go(view.ranged ? view.path + range : view.path)}
                  />
                ))}
              </Command.Group>
              <Command.Group heading="Do">
                <Item name="New thread" note="Ctrl Shift O" onSelect={go("/chat")} />
                <Item
                  name="Keyboard shortcuts"
                  note="?"
                  onSelect={() => {
                    onClose();
                    onKeys();
                  }}
                />
                {may("traces.write") && <Item name="Create a rule" onSelect={go("/console/rules/new")} />}
                {may("traces.write") && <Item name="Create an alert" onSelect={go("/console/alerts/new")} />}
                {may("keys.manage") && <Item name="Create an API key" onSelect={go("/console/keys/new")} />}
                <Item name="Documentation" note="new tab" onSelect={visit("/docs/")} />
                <Item name="API reference" note="new tab" onSelect={visit(resolveAddress("/docs/reference"))} />
                {THEMES.filter((one) => one !== theme).map((one) => (
                  <Item
                    key={one}
                    name={one === "system" ? "Theme of the system" : `${one === "dark" ? "Dark" : "Light"} theme`}
                    onSelect={() => {
                      chooseTheme(one);
                      onClose();
                    }}
                  />
                ))}
                {leave && (
                  <Item
                    name="Sign out"
                    onSelect={() => {
                      onClose();
                      leave();
                    }}
                  />
                )}
              </Command.Group>
              <Command.Group heading="Threads">
                {listed.map((thread) => (
                  <Item
                    key={thread.thread_id}
                    id={thread.thread_id}
                    name={threadTitle(thread)}
                    note={describeThread(thread)}
                    onSelect={go(`/chat/${thread.thread_id}`)}
                  />
                ))}
                {contain.map((thread) => (
                  <Item
                    // The list scores an item once: with other words it is another item.
                    key={`${found.words} ${thread.thread_id}`}
                    id={thread.thread_id}
                    name={threadTitle(thread)}
                    note={describeThread(thread)}
                    found={found.words}
                    onSelect={go(`/chat/${thread.thread_id}`)}
                  />
                ))}
              </Command.Group>
              {found.traces.length > 0 && (
                <Command.Group heading="Traces">
                  {found.traces.map((trace) => (
                    <Item
                      key={`${found.words} ${trace.id}`}
                      id={trace.id}
                      name={trace.name}
                      note={exactTime(trace.start_time)}
                      found={found.words}
                      onSelect={go(`/traces/${trace.trace_id}?project=${trace.session_id}`)}
                    />
                  ))}
                </Command.Group>
              )}
              <Command.Group heading="Traces of a project">
                {projects.data?.map((project) => (
                  <Item
                    key={project.id}
                    id={project.id}
                    name={project.name}
                    onSelect={go(`/traces?project=${project.id}`)}
                  />
                ))}
              </Command.Group>
              <Command.Group heading="Talk to">
                {assistants.data?.map((assistant) => (
                  <Item
                    key={assistant.assistant_id}
                    id={assistant.assistant_id}
                    name={assistant.name}
                    note={assistant.graph_id}
                    onSelect={() => {
                      chooseAssistant(assistant.assistant_id);
                      go("/chat")();
                    }}
                  />
                ))}
              </Command.Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Item({
  id,
  name,
  note,
  found,
  onSelect,
}: {
  id?: string;
  name: string;
  note?: string;
  /** The words by which the server found it. The name need not contain them. */
  found?: string;
  onSelect: () => void;
}) {
  return (
    <Command.Item
      className={css.item}
      value={`${name} ${id ?? ""}`}
      keywords={found === undefined ? undefined : [found]}
      onSelect={onSelect}
    >
      <span className={css.name}>{name}</span>
      {note && <span className={css.note}>{note}</span>}
    </Command.Item>
  );
}

/** Milliseconds after the last letter, so that a word is one search. */
const SEARCH_MS = 200;
/** Shorter words are in too many threads to choose from. */
const LEAST = 2;
const TRACES = 10;
/** Traces are searched in the projects with the newest runs, and over the longest range that the list of traces offers. */
const PROJECTS = 10;
const DAYS_MS = 30 * 24 * 3_600_000;

const NO_THREADS: ThreadRow[] = [];
const NO_TRACES: TraceRow[] = [];

interface Found {
  /** The words that were searched; "" for none. */
  words: string;
  threads: ThreadRow[];
  traces: TraceRow[];
  /** The answer to the present text is still to come. */
  searching: boolean;
}

/** Search of the server by the words in the palette: threads and traces that no list on the page has loaded. */
export function useFound(text: string): Found {
  const given = text.trim().length < LEAST ? "" : text.trim();
  const words = useLater(given, SEARCH_MS);
  const threads = useThreads(words !== "", words);
  const projects = useProjects();
  const session = projects.data?.slice(0, PROJECTS).map(({ id }) => id) ?? [];
  const traces = useQuery({
    queryKey: ["palette", "traces", words, session],
    enabled: words !== "" && session.length > 0,
    queryFn: ({ signal }) =>
      call<{ runs: TraceRow[] }>(
        "POST",
        "/api/v1/runs/query",
        {
          session,
          is_root: true,
          query: words,
          limit: TRACES,
          select: ["start_time"],
          start_time: new Date(Date.now() - DAYS_MS).toISOString(),
        },
        signal,
      ),
  });
  const searched = words !== "" && words === given;
  return {
    words,
    threads: searched && !threads.isPlaceholderData ? (threads.data?.pages.flat() ?? NO_THREADS) : NO_THREADS,
    traces: searched ? (traces.data?.runs ?? NO_TRACES) : NO_TRACES,
    searching: words !== given || (words !== "" && (threads.isFetching || traces.isFetching)),
  };
}
