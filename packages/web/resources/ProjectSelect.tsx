/** The choice of a project. One that is not among those listed keeps its place. */
import { Link } from "wouter";
import type { Project } from "../api/queries.ts";
import { Select } from "./Form.tsx";

export function ProjectSelect({
  projects,
  value,
  fixed = false,
  help,
  onChange,
}: {
  projects: Project[];
  value: string;
  /** It cannot be changed. */
  fixed?: boolean;
  help?: string;
  onChange: (project: string) => void;
}) {
  const none = projects.length === 0 && value === "";
  return (
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
      {!projects.some(({ id }) => id === value) && <option value={value}>{value === "" ? "Choose one" : value}</option>}
      {projects.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </Select>
  );
}
