/** Who answers a question, through what, and the links by which it can be answered. */
/** Through what an answer came. */
export type Via = "api" | "console" | "link" | "webhook" | "mcp" | "a2a" | "agui" | "cron" | "run";

/** Who makes a run that answers. */
export interface Actor {
  kind: string;
  credentialId: string;
  user?: string;
  /** Left out in runs of earlier versions: the API. */
  via?: Via;
  /** For whom the link was made that was answered. */
  name?: string;
  address?: string;
  agent?: string;
}

/** The one answer that a question has taken. */
export interface FirstAnswer {
  via: Via;
  name?: string;
  /** Milliseconds since 1970. */
  at: number;
  run_id: string;
}

/** What a link is made for. */
export interface NewLink {
  link_id: string;
  interrupt_id: string;
  name?: string;
  /** The answers that it accepts; all when absent. For an action to review these are types of decision. */
  answers?: unknown[];
  /** Milliseconds since 1970. */
  expires: number;
  by: { kind: string; credentialId: string };
}

export interface AnswerLink extends NewLink {
  /**
   * How many answers the question's id had taken when the link was made. LangGraph gives the questions that one task asks one after
   * another the same id, so the id alone does not say which of them the link is for.
   */
  turn: number;
  created: number;
}

/** Where the question of a link stands. */
export type Standing =
  | { state: "waits"; link: AnswerLink; value: unknown; graph_id: string }
  | { state: "answered"; link: AnswerLink; first: FirstAnswer }
  | { state: "gone"; link: AnswerLink };

export interface GivenByLink {
  run_id: string;
  answer: unknown;
  actor: Actor;
}

/** What the call of a run's webhook asks: the ids of the links of its questions. */
export interface AskedByCall {
  run_id: string;
  links: string[];
}

/** What a thread does about links, for the rest of Weir. */
export interface LinkRpc {
  /** 404 when the interrupt does not wait, 409 when it has been answered, or cannot be answered by a link. */
  makeLink(link: NewLink): Promise<AnswerLink>;
  /**
   * The link that the server itself gives out for the question through this channel: made once, and again when it has expired.
   * Undefined when the question cannot be answered by a link.
   */
  ownLink(interruptId: string, via: Via): Promise<AnswerLink | undefined>;
  /** The links of an interrupt, with their state, oldest first. */
  listLinks(interruptId: string): Promise<Standing[]>;
  /** Revokes a link. False when there is none. */
  removeLink(interruptId: string, linkId: string): Promise<boolean>;
  /** Undefined when there is no such link, or no longer. */
  askedBy(linkId: string): Promise<Standing | undefined>;
  /** Starts the run that resumes with the answer, if the question waits. Else says where it stands. */
  answerLink(linkId: string, given: GivenByLink): Promise<Standing | { state: "accepted"; run_id: string } | undefined>;
  /** The answers that the thread's questions have taken, by the ids of the questions: the last one of each. */
  answersTaken(interruptIds: string[]): Promise<Record<string, FirstAnswer>>;
}
