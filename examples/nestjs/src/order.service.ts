import { Inject, Injectable } from '@nestjs/common';
import type { Notices, Receipt } from 'notice-queue';
import { NOTICES } from './notice-queue.module';

@Injectable()
export class OrderService {
  constructor(@Inject(NOTICES) private readonly notices: Notices) {}

  async shipped(order: string, phone: string): Promise<Receipt> {
    return this.notices.send(
      { templateCode: 'ORDER_SHIPPED', contacts: [{ contact: phone, var1: order }] },
      { idempotencyKey: `order-${order}-shipped` },
    );
  }
}
