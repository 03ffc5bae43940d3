import { Global, Inject, Module } from '@nestjs/common';
import type {
  DynamicModule,
  FactoryProvider,
  ModuleMetadata,
  OnApplicationShutdown,
} from '@nestjs/common';
import { NoticeQueue, type NoticeQueueOptions, type Notices } from 'notice-queue';

/** What services inject: `@Inject(NOTICES) notices: Notices`. */
export const NOTICES = Symbol('notices');

type Options = Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<NoticeQueueOptions>, 'inject' | 'useFactory'>;

/** One queue for the application. Options that the factory leaves out come from the environment. */
@Global()
@Module({})
export class NoticeQueueModule implements OnApplicationShutdown {
  constructor(@Inject(NOTICES) private readonly notices: Notices) {}

  static forRootAsync({ imports = [], inject = [], useFactory }: Options): DynamicModule {
    const queue = {
      provide: NOTICES,
      inject,
      useFactory: async (...needed: unknown[]) => NoticeQueue.fromEnv(await useFactory(...needed)),
    };
    return { module: NoticeQueueModule, imports, providers: [queue], exports: [NOTICES] };
  }

  /** Waits for the calls under way. */
  async onApplicationShutdown(): Promise<void> {
    await this.notices.close();
  }
}
