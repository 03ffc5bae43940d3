import { Command, type Redis } from 'ioredis';

/** A connection whose commands the test holds, refuses or repeats. */
export class HeldLine {
  readonly redis: Redis;
  refuses = false;
  /** The next command is executed twice; the second answer is read, as after a reconnect. */
  repeatsNext = false;
  /** Called with what the search for a stored end answers; its second step waits for the result. */
  onFind: ((found: string) => Promise<void>) | undefined;
  /** Called when a command was refused. */
  onRefusal = () => {};

  constructor(redis: Redis) {
    this.redis = redis;
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = (command, stream) => {
      const isScript = command.name === 'evalsha' || command.name === 'eval';
      if (!isScript) return send(command, stream);
      if (this.refuses) {
        const refusal = new Error('NOREPLICAS Not enough good replicas to write.');
        command.reject(Object.assign(refusal, { name: 'ReplyError' }));
        this.onRefusal();
        return command.promise;
      }
      if (this.repeatsNext) {
        this.repeatsNext = false;
        const first = new Command(command.name, [...command.args]);
        first.promise.catch(() => {});
        void send(first, stream);
      }
      const step = String(command.args.at(-1));
      const { onFind } = this;
      if (onFind !== undefined && step === 'waited') {
        void onFind('waited').then(() => send(command, stream));
        return command.promise;
      }
      if (onFind !== undefined && step === 'ask') {
        command.promise.then(
          (found) => found === 'wait' && void onFind('wait'),
          () => {},
        );
      }
      return send(command, stream);
    };
  }
}
