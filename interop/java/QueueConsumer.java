import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeSet;

import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.impl.consumer.ProcessQueue;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Consumes one topic and tells which of its queues it has. Arguments: name servers, topic, consumer group; the system
 * property interop.clientIP is the address in its client id. Prints READY, HAS time queues... whenever its own table of
 * queues has changed, GOT time queue text for each message. Times are epoch milliseconds, queues broker:number.
 */
public class QueueConsumer {
    private static final long LOOK_MILLIS = 20;

    public static void main(String[] args) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setClientIP(System.getProperty("interop.clientIP"));
        consumer.setMqClientApiTimeout(60_000);
        consumer.setPollNameServerInterval(1000);
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                String text = new String(message.getBody(), StandardCharsets.UTF_8);
                String queue = context.getMessageQueue().getBrokerName() + ":" + message.getQueueId();
                System.out.println("GOT " + System.currentTimeMillis() + " " + queue + " " + text);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        System.out.println("READY");
        tellQueues(consumer, args[1]);
    }

    private static void tellQueues(DefaultMQPushConsumer consumer, String topic) throws InterruptedException {
        String told = "";
        for (;; Thread.sleep(LOOK_MILLIS)) {
            String has = String.join(" ", queues(consumer, topic));
            if (!has.equals(told)) {
                System.out.println("HAS " + System.currentTimeMillis() + " " + has);
                told = has;
            }
        }
    }

    private static TreeSet<String> queues(DefaultMQPushConsumer consumer, String topic) {
        TreeSet<String> found = new TreeSet<>();
        Map<MessageQueue, ProcessQueue> table =
            consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable();
        for (Map.Entry<MessageQueue, ProcessQueue> entry : table.entrySet()) {
            if (entry.getKey().getTopic().equals(topic) && !entry.getValue().isDropped()) {
                found.add(entry.getKey().getBrokerName() + ":" + entry.getKey().getQueueId());
            }
        }
        return found;
    }
}
