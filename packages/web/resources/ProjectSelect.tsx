/** The choice of a project, of all projects of the workspace. */
import { useState } from "react";
import { Link } from "wouter";
import { type Project, useProjectChoice } from "../api/queries.ts";
import controls from "../ui/controls.module.css";
import { useLater } from "../ui/later.ts";
import { Input, Select } from "./Form.tsx";

const SEARCH_MS = 250;

/** The options of a choice of projects, and the words by which they are searched. */
export function useProjectSearch(value: string) {
  const [words, setWords] = useState("");
  const { projects, isLong } = useProjectChoice(value, useLater(words.trim(), SEARCH_MS));
  return { projects, isLong, words, setWords };
}

/** The options. One that is not among the projects keeps its place. */
export function ProjectOptions({ projects, value, none }: { projects: Project[]; value: string; none?: string }) {
  return (
    <>
      {!projects.some(({ id }) => id === value) && <option value={value}>{value === "" ? none : value}</option>}
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </>
  );
}

/** The search beside a choice of projects, where there are more than it lists. */
export function ProjectWords({ words, onWords }: { words: string; onWords: (words: string) => void }) {
  return (
    <input
      type="search"
      className={controls.field}
      aria-label="Find a project"
      placeholder="Find a project"
      value={words}
      onChange={({ target }) => onWords(target.value)}
    />
  );
}

export function ProjectSelect({
  value,
  fixed = false,
  help,
  onChange,
}: {
  value: string;
  /** It cannot be changed. */
  fixed?: boolean;
  help?: string;
  onChange: (project: string) => void;
}) {
  const { projects, isLong, words, setWords } = useProjectSearch(value);
  const none = projects.length === 0 && value === "" && words === "";
  return (
    <div>
      {isLong && !fixed && (
        <Input label="Find a project" type="search" value={words} onChange={({ target }) => setWords(target.value)} />
      )}
      <Select
        label="Project"
        value={value}
        disabled={fixed}
        help={
          none ? (
            <>
              No project has traces yet. A project exists from its first run on:{" "}
              <Link href="/chat">talk to an agent</Link> or <Link href="/traces">send traces</Link>.
            </>
          ) : (
            help
          )
        }
        onChange={(event) => onChange(event.target.value)}
      >
        <ProjectOptions projects={projects} value={value} none="Choose one" />
      </Select>
    </div>
  );
}
