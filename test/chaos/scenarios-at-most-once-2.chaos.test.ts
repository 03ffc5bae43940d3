import { describeScenarios } from './support/describe-scenarios.ts';

describeScenarios('at-most-once', 2);
