import { useState } from "react";
import { useProjects } from "../../api/queries.ts";
import { useAction } from "../../api/me.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Form, Input, Select } from "../../resources/Form.tsx";
import css from "../../resources/parts.module.css";
import { ProjectOptions, ProjectWords, useProjectSearch } from "../../resources/ProjectSelect.tsx";
import { Loaded } from "../../resources/states.tsx";
import { everyText } from "./days.ts";
import { createJob } from "./queries.ts";
import type { Destination } from "./types.ts";

const INTERVALS = [1, 6, 12, 24, 168];
const COMPRESSIONS = ["zstandard", "gzip", "snappy", "none"];
const EXPERIMENTS = "experiments";
const DAY = 86_400_000;

const dayBefore = (days: number) => new Date(Date.now() - days * DAY).toISOString().slice(0, 10);
const midnight = (day: string, later = 0) => new Date(Date.parse(`${day}T00:00:00Z`) + later).toISOString();

export function CreateExport({
  destinations,
  onMade,
  onClose,
}: {
  destinations: Destination[];
  onMade: (id: string) => void;
  onClose: () => void;
}) {
  const action = useAction("exports.manage");
  const projects = useProjects();
  const [destination, setDestination] = useState(destinations[0]?.id ?? "");
  const [project, setProject] = useState("");
  const choice = useProjectSearch(project === EXPERIMENTS ? "" : project);
  const [hours, setHours] = useState(0);
  const [first, setFirst] = useState(dayBefore(7));
  const [last, setLast] = useState(dayBefore(1));
  const [filter, setFilter] = useState("");
  const [compression, setCompression] = useState("zstandard");
  const once = hours === 0;
  const wrong = once && last < first ? "The last day is before the first." : undefined;
  const submit = async () => {
    if (wrong !== undefined) return;
    const chosen = project || choice.projects[0]?.id || EXPERIMENTS;
    const made = await createJob({
      bulk_export_destination_id: destination,
      ...(chosen === EXPERIMENTS ? { all_experiments: true } : { session_id: chosen }),
      start_time: midnight(first),
      ...(once ? { end_time: midnight(last, DAY) } : { interval_hours: hours }),
      ...(filter.trim() !== "" && { filter: filter.trim() }),
      compression,
    });
    onMade(made.id);
  };
  return (
    <Modal
      title="New export"
      text="Runs that started in these days are written as Parquet, each exactly once. Days are UTC days."
      onClose={onClose}
    >
      {destinations.length === 0 ? (
        <p className={css.note}>There is no destination to write to. Create one first.</p>
      ) : (
        <Loaded query={projects} what="projects" rows={4}>
          {() => (
            <Form
              action={action}
              submit={once ? "Create export" : "Create schedule"}
              onSubmit={submit}
              onCancel={onClose}
            >
              {choice.isLong && <ProjectWords words={choice.words} onWords={choice.setWords} />}
              <div className={css.pair}>
                <Select label="Project" value={project} onChange={(event) => setProject(event.target.value)}>
                  <ProjectOptions projects={choice.projects} value={project || (choice.projects[0]?.id ?? "")} />
                  <option value={EXPERIMENTS}>All experiments</option>
                </Select>
                <Select
                  label="Destination"
                  value={destination}
                  onChange={(event) => setDestination(event.target.value)}
                >
                  {destinations.map(({ id, display_name }) => (
                    <option key={id} value={id}>
                      {display_name}
                    </option>
                  ))}
                </Select>
              </div>
              <Select
                label="When"
                value={hours}
                help={
                  once
                    ? undefined
                    : "Each export begins ten minutes after its window ends. Windows of the past are caught up."
                }
                onChange={(event) => setHours(Number(event.target.value))}
              >
                <option value={0}>Once</option>
                {INTERVALS.map((one) => (
                  <option key={one} value={one}>
                    On a schedule, {everyText(one)}
                  </option>
                ))}
              </Select>
              <div className={css.pair}>
                <Input
                  label="First day"
                  type="date"
                  required
                  value={first}
                  onChange={(event) => event.target.value !== "" && setFirst(event.target.value)}
                />
                {once && (
                  <Input
                    label="Last day"
                    type="date"
                    required
                    value={last}
                    error={wrong}
                    onChange={(event) => event.target.value !== "" && setLast(event.target.value)}
                  />
                )}
              </div>
              <div className={css.pair}>
                <Input
                  label="Filter (optional)"
                  value={filter}
                  placeholder={'eq(run_type, "llm")'}
                  help="As in the search of traces. Empty: all runs."
                  onChange={(event) => setFilter(event.target.value)}
                />
                <Select
                  label="Compression"
                  value={compression}
                  onChange={(event) => setCompression(event.target.value)}
                >
                  {COMPRESSIONS.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </Select>
              </div>
            </Form>
          )}
        </Loaded>
      )}
    </Modal>
  );
}
