/** What flow control must do, in the plainest way: every question is answered by a look at all claims. */
import type { Claim } from "../../src/flow/book.ts";
import type { Limits, Need } from "../../src/flow/claim.ts";

const MINUTE = 60_000;

interface Known {
  claim: Claim;
  granted?: number;
  ended?: number;
  tokens: number;
}

export class Reference {
  readonly all: Known[] = [];
  /** The lanes in the order of their last grants, the latest last. */
  #turns: string[] = [];

  constructor(private readonly ruleLimits: (rule: string) => Limits | undefined) {}

  limits({ rule, limits }: Need): Limits {
    return limits ?? this.ruleLimits(rule) ?? {};
  }

  held(need: Need): Known[] {
    return this.#of(need).filter(({ granted, ended }) => granted !== undefined && ended === undefined);
  }

  starts(need: Need, now: number): number {
    return this.#of(need).filter(({ granted = -Infinity }) => granted > now - MINUTE).length;
  }

  tokens(need: Need, now: number): number {
    const ended = this.#of(need).filter(({ ended = -Infinity }) => ended > now - MINUTE);
    return ended.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  mayBegin({ needs }: Claim, now: number): boolean {
    return needs.every((need) => {
      const {
        paused,
        concurrency = Infinity,
        starts_per_minute = Infinity,
        tokens_per_minute = Infinity,
      } = this.limits(need);
      return (
        !paused &&
        this.held(need).length < concurrency &&
        this.starts(need, now) < starts_per_minute &&
        this.tokens(need, now) < tokens_per_minute
      );
    });
  }

  /** Grants what may begin, one after the other. The ids. */
  grant(now: number): string[] {
    const ids: string[] = [];
    for (;;) {
      const able = this.all.filter(({ claim, granted, ended }) => {
        return granted === undefined && ended === undefined && this.mayBegin(claim, now);
      });
      const level = ({ due, priority }: Claim) => Math.min(9, Math.floor((now - due) / MINUTE) + priority);
      const [next] = able.toSorted((a, b) => {
        const lanes = this.#turns.indexOf(laneOf(a.claim)) - this.#turns.indexOf(laneOf(b.claim));
        const scores = scoreOf(a.claim) - scoreOf(b.claim);
        if (laneOf(a.claim) === laneOf(b.claim)) return scores;
        return level(b.claim) - level(a.claim) || lanes || scores;
      });
      if (!next) return ids;
      next.granted = now;
      this.#turns = [...this.#turns.filter((lane) => lane !== laneOf(next.claim)), laneOf(next.claim)];
      ids.push(next.claim.runId);
    }
  }

  #of({ rule, key }: Need): Known[] {
    return this.all.filter(({ claim }) => claim.needs.some((one) => one.rule === rule && one.key === key));
  }
}

const laneOf = ({ needs, turn }: Claim): string => JSON.stringify([needs, turn]);
const scoreOf = ({ due, priority }: Claim): number => due - priority * MINUTE;
