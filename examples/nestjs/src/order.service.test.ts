import { Test } from '@nestjs/testing';
import { FakeNoticeQueue, startTestStack, waitFor } from 'notice-queue/testing';
import { NOTICES, NoticeQueueModule } from './notice-queue.module';
import { OrderService } from './order.service';

const OPTIONS = Symbol('options');

/** The options come from a module that is not global, as those of most applications. */
const queueAt = (options: object) =>
  NoticeQueueModule.forRootAsync({
    imports: [
      {
        module: class Settings {},
        providers: [{ provide: OPTIONS, useValue: options }],
        exports: [OPTIONS],
      },
    ],
    inject: [OPTIONS],
    useFactory: (found: object) => found,
  });

it('a unit test puts a fake in the place of the queue', async () => {
  const notices = new FakeNoticeQueue();
  const module = await Test.createTestingModule({
    imports: [queueAt({})],
    providers: [OrderService],
  })
    .overrideProvider(NOTICES)
    .useValue(notices)
    .compile();
  await module.get(OrderService).shipped('1001', '01012345678');
  expect(notices.sent).toMatchObject([{ notice: { contacts: [{ var1: '1001' }] } }]);
  await module.close();
});

it('from end to end; the shutdown of the application closes the queue', async () => {
  const redis = { url: process.env.REDIS_URL };
  const stack = await startTestStack({ redis });
  const imports = [queueAt({ redis, prefix: stack.prefix })];
  const module = await Test.createTestingModule({ imports, providers: [OrderService] }).compile();
  const service = module.get(OrderService);
  const { id } = await service.shipped('1001', '01012345678');
  await waitFor(async () => (await stack.notices.get(id)).state === 'accepted');
  await module.close();
  await expect(service.shipped('1002', '01012345678')).rejects.toMatchObject({
    code: 'QUEUE_CLOSED',
  });
  await stack.stop();
}, 30_000);
