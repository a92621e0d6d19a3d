// A client of slug in one file, with Node's standard library alone. Node 22.18 or newer runs it as it is:
//
//   node slug_client.ts "What does src/main.rs do?"            starts slug and asks it
//   node slug_client.ts --socket /path/to/work.sock "…"        asks a session of `slug serve`
//
// It prints the answer as it streams, asks you about calls and questions, and stops the turn at ctrl+c.
// Copy what you need: SlugClient is the part that speaks slug's lines, the rest is one use of it.
// docs/scripts.md explains the lines.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

type Line = { type: string; [field: string]: any };
type Answer = { chosen?: number[]; text?: string };
type Sink = { write(text: string): unknown; end(): unknown };

const ARGUMENTS = ["--input-format", "stream-json", "--output-format", "stream-json", "-p"];

/** Sends lines to slug and reads lines from it. */
export class SlugClient {
  private iterator: AsyncIterator<string>;
  private writer: Sink;
  private exited: Promise<number>;

  private constructor(from: NodeJS.ReadableStream, writer: Sink, exited: Promise<number>) {
    this.iterator = createInterface({ input: from, crlfDelay: Infinity })[Symbol.asyncIterator]();
    this.writer = writer;
    this.exited = exited;
  }

  /** Starts slug with pipes. Flags follow the name in `command`. */
  static start(command: string[] = ["slug"]): SlugClient {
    const [program, ...flags] = command;
    // ctrl+c is for this program, which then interrupts the turn.
    const child = spawn(program, [...flags, ...ARGUMENTS], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
    });
    const exited = once(child, "exit").then(([code]) => code ?? 1);
    return new SlugClient(child.stdout, child.stdin, exited);
  }

  /** Connects to the socket of `slug serve`, and asks to be the client that writes. */
  static async connect(path: string): Promise<SlugClient> {
    const socket = connect(path);
    await once(socket, "connect");
    const client = new SlugClient(socket, socket, Promise.resolve(0));
    client.send({ type: "write" });
    for await (const line of client.lines()) {
      if (line.type === "access" && line.writer === "you") return client;
      if (line.type === "access" && line.writer === "other") break;
      if (line.type === "error") throw new Error(line.message);
    }
    socket.end();
    throw new Error("Another client writes in this session, or it has ended.");
  }

  send(line: Line): void {
    this.writer.write(JSON.stringify(line) + "\n");
  }

  /** Sends a message. While a turn runs it waits, or reaches that turn at its next step. */
  say(text: string, delivery: "queue" | "steer" = "queue"): void {
    this.send({ type: "user", message: { role: "user", content: text }, delivery });
  }

  /** Answers an `approval_asked`. With a no, `message` says what to do instead. */
  approve(question: Line, allow: boolean, message?: string): void {
    this.send({ type: "approval", id: question.id, allow, message });
  }

  /** Answers a `questions_asked`, question by question. */
  answer(question: Line, answers: Answer[]): void {
    this.send({ type: "answers", id: question.id, answers });
  }

  interrupt(): void {
    this.send({ type: "interrupt" });
  }

  /** The lines of slug until it ends. Several loops may follow each other. */
  async *lines(): AsyncGenerator<Line> {
    for (;;) {
      const { value, done } = await this.iterator.next();
      if (done) return;
      yield JSON.parse(value);
    }
  }

  /** Leaves a socket, or ends the slug that was started. Returns its exit status. */
  close(): Promise<number> {
    this.writer.end();
    return this.exited;
  }
}

const typed = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function read(prompt: string): Promise<string> {
  process.stdout.write(prompt);
  const { value, done } = await typed.next();
  return done ? "" : value.trim();
}

async function askAboutCall(client: SlugClient, question: Line): Promise<void> {
  console.log(`\n[${question.tool}] ${JSON.stringify(question.input)}`);
  for (const text of [question.reason, ...question.warnings, ...question.dangers]) {
    if (text) console.log(`  ${text}`);
  }
  const answer = await read("y for yes, or what to do instead: ");
  client.approve(question, answer === "y", ["y", "n", ""].includes(answer) ? undefined : answer);
}

async function askQuestions(client: SlugClient, asked: Line): Promise<void> {
  const answers: Answer[] = [];
  for (const question of asked.questions) {
    console.log(`\n${question.question}`);
    question.options.forEach((option: Line, number: number) => console.log(`  ${number}: ${option.label}`));
    const answer = await read("a number, or your own words: ");
    const isOption = /^\d+$/.test(answer) && Number(answer) < question.options.length;
    answers.push(isOption ? { chosen: [Number(answer)] } : { text: answer });
  }
  client.answer(asked, answers);
}

/** Shows what slug says until the turn is over. Returns the result. */
async function showTurn(client: SlugClient): Promise<Line | undefined> {
  for await (const line of client.lines()) {
    if (line.type === "text") process.stdout.write(line.text);
    else if (line.type === "dropped") console.log("\n(again)");
    else if (line.type === "approval_asked") await askAboutCall(client, line);
    else if (line.type === "questions_asked") await askQuestions(client, line);
    else if (line.type === "error") console.error(`slug: ${line.message}`);
    else if (line.type === "result") {
      console.log();
      return line;
    }
  }
  return undefined;
}

async function main(): Promise<number> {
  const options = { socket: { type: "string" }, slug: { type: "string", default: "slug" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const client = values.socket ? await SlugClient.connect(values.socket) : SlugClient.start(values.slug.split(" "));
  process.on("SIGINT", () => client.interrupt());
  client.say(positionals.join(" "));
  const result = await showTurn(client);
  await client.close();
  if (!result) console.error("slug has ended.");
  else if (result.error) console.error(result.error.message);
  return result ? result.exit : 1;
}

process.exit(await main());
