/** The commits of a prompt, what each changed, and the tags that name them. */
import { useState, type FormEvent } from "react";
import { Link, useSearchParams } from "wouter";
import { useMay, useAction } from "../../api/me.ts";
import { readText } from "../../chat/turn/messages.ts";
import { PLAYGROUND } from "../playground/handover.ts";
import { Loaded, Command } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { Payload } from "../../ui/Payload.tsx";
import { readPrompt } from "../../../../src/agents/prompts/chat-manifest.ts";
import { Messages } from "../../traces/trace/Value.tsx";
import { roleText } from "../../traces/trace/messages.ts";
import { Changes } from "../../resources/changes/Changes.tsx";
import work from "../../resources/work.module.css";
import { type Commit, type Tag, useCommits, useManifest, useTags, deleteTag, moveTag } from "./queries.ts";
import { ShowMore } from "../../resources/ListPage.tsx";
import { Trouble } from "../../resources/Trouble.tsx";

const short = (hash: string) => hash.slice(0, 8);

export function Commits({ name }: { name: string }) {
  const commits = useCommits(name);
  const tags = useTags(name).data ?? [];
  const [search, setSearch] = useSearchParams();
  const chosen = search.get("commit") ?? "";
  const choose = (hash: string) => setSearch({ commit: short(hash) });
  return (
    <Loaded query={commits} what="commits" rows={4}>
      {({ rows }) => {
        const listed = rows.find(({ commit_hash }) => commit_hash.startsWith(chosen));
        // An address may name a commit that is on a later page.
        const hash = listed?.commit_hash ?? chosen;
        return (
          <>
            <Table
              label="Commits"
              columns={buildColumns(tags, choose)}
              rows={rows}
              rowKey={({ commit_hash }) => commit_hash}
              onOpen={({ commit_hash }) => choose(commit_hash)}
              openKey={hash}
            />
            <ShowMore query={commits} />
            <OneCommit key={hash} name={name} hash={hash} rows={rows} tags={tags} />
          </>
        );
      }}
    </Loaded>
  );
}

const listTagNames = (tags: Tag[], hash: string) =>
  tags.filter(({ commit_hash }) => commit_hash === hash).map(({ tag_name }) => tag_name);

function buildColumns(tags: Tag[], onChoose: (hash: string) => void): Column<Commit>[] {
  return [
    {
      id: "hash",
      name: "Commit",
      width: 88,
      kept: true,
      cell: ({ commit_hash }) => (
        <button type="button" className={`${controls.link} ${work.mono}`} onClick={() => onChoose(commit_hash)}>
          {short(commit_hash)}
        </button>
      ),
    },
    { id: "about", name: "Description", width: 120, grows: true, detail: true, cell: ({ description }) => description },
    {
      id: "tags",
      name: "Tags",
      width: 120,
      kept: true,
      cell: ({ commit_hash }) => listTagNames(tags, commit_hash).join(", "),
    },
    {
      id: "made",
      name: "Committed",
      width: 88,
      end: true,
      detail: true,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
  ];
}

function OneCommit({ name, hash: given, rows, tags }: { name: string; hash: string; rows: Commit[]; tags: Tag[] }) {
  const may = useMay();
  const place = rows.findIndex(({ commit_hash }) => commit_hash === given);
  const [against, setAgainst] = useState((place === -1 ? undefined : rows[place + 1]?.commit_hash) ?? "");
  const others = rows.filter((_, index) => index !== place);
  const now = useManifest(name, given);
  const hash = now.data?.commit_hash ?? given;
  const before = useManifest(name, against === "" ? undefined : against);
  const [tag] = listTagNames(tags, hash);
  return (
    <section className={work.section} aria-label={`Commit ${short(hash)}`}>
      <div className={work.head}>
        <h2>Commit {short(hash)}</h2>
        {others.length > 0 && (
          <select
            className={`${controls.field} ${work.select}`}
            aria-label="Compare with"
            value={against}
            onChange={(event) => setAgainst(event.target.value)}
          >
            <option value="">Compare with…</option>
            {others.map(({ commit_hash }) => (
              <option key={commit_hash} value={commit_hash}>
                Compare with {short(commit_hash)}
              </option>
            ))}
          </select>
        )}
      </div>
      <PullLine name={name} word={tag ?? short(hash)} />
      <div className={work.acts}>
        <Link href={`${PLAYGROUND}?${new URLSearchParams({ prompt: name, commit: hash })}`}>Open in playground</Link>
      </div>
      {may("prompts.write") && <Tags name={name} hash={hash} tags={tags} />}
      <Loaded query={now} what="commit" rows={4}>
        {({ manifest }) => (
          <>
            <Shown manifest={manifest} />
            {before.data && (
              <Changes
                title={`Changes from ${short(against)}`}
                same="Both commits are the same."
                {...comparable(before.data.manifest, manifest)}
              />
            )}
            <Payload label="Manifest" text={JSON.stringify(manifest, null, 2)} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** As messages and settings where both are prompts of messages and differ in these, else as manifests. */
function comparable(before: object, now: object): { before: object; now: object } {
  const read = { before: readPrompt(before), now: readPrompt(now) };
  const differ = JSON.stringify(read.before) !== JSON.stringify(read.now);
  return read.before && read.now && differ ? { before: read.before, now: read.now } : { before, now };
}

/** The messages of a commit. A manifest of another kind has none. */
function Shown({ manifest }: { manifest: unknown }) {
  const said = readPrompt(manifest)?.messages.map(({ role, content, tool_calls = [] }) => ({
    role: role === "placeholder" ? "Placeholder" : roleText(role),
    text: readText({ content }),
    calls: tool_calls.map(({ name, args }) => ({ name, args: JSON.stringify(args, null, 2) })),
  }));
  if (said === undefined || said.length === 0) return null;
  return (
    <section className={work.section} aria-label="Messages">
      <h3 className={work.note}>Messages</h3>
      <Messages said={said} />
    </section>
  );
}

/** The line by which a program pulls a commit. */
function PullLine({ name, word }: { name: string; word: string }) {
  return <Command text={`await client.pullPromptCommit("${name}:${word}");`} label="Copy the pull line" />;
}

/** The tags of a prompt, moved to the commit that is shown. */
function Tags({ name, hash, tags }: { name: string; hash: string; tags: Tag[] }) {
  const [fresh, setFresh] = useState("");
  const { busy, trouble, run } = useAction("prompts.write");
  const add = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await moveTag(name, fresh.trim(), hash);
      setFresh("");
    });
  };
  return (
    <>
      <form className={work.acts} onSubmit={add} aria-label="Tags">
        {tags.map(({ tag_name, commit_hash }) =>
          commit_hash === hash ? (
            <Button key={tag_name} disabled={busy} onClick={() => void run(() => deleteTag(name, tag_name))}>
              Remove {tag_name}
            </Button>
          ) : (
            <Button key={tag_name} disabled={busy} onClick={() => void run(() => moveTag(name, tag_name, hash))}>
              Move {tag_name} here
            </Button>
          ),
        )}
        <input
          className={`${controls.field} ${work.select}`}
          aria-label="New tag"
          placeholder="New tag, such as prod"
          value={fresh}
          onChange={(event) => setFresh(event.target.value)}
        />
        <Button type="submit" disabled={busy || fresh.trim() === ""}>
          Add tag
        </Button>
      </form>
      <Trouble text={trouble} />
    </>
  );
}
