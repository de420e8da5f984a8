import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Sends the numbers 0, 1, 2 … as messages. Arguments: name servers, topic, how many, pause between two in milliseconds.
 * Without name servers it asks the address server of rocketmq.namesrv.domain.
 * A star in the topic becomes the number: each message goes to a topic of its own.
 * Prints READY, then SENT n or FAILED n reason for each, then DONE. SIGTERM ends it early, also with DONE. With the system
 * property interop.tellQueues it prints SENT time broker:queue n, the time in epoch milliseconds.
 */
public class Producer {
    private static final CountDownLatch asked = new CountDownLatch(1);
    private static final CountDownLatch done = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[2]);
        long pauseMillis = Long.parseLong(args[3]);
        DefaultMQProducer producer = new DefaultMQProducer("interop-producer", Keys.hook());
        if (!args[0].isEmpty()) {
            producer.setNamesrvAddr(args[0]);
        }
        producer.setPollNameServerInterval(1000);
        producer.setSendMsgTimeout(60_000);
        // On a busy machine the first lookup of a new process takes longer than the 3 s of the default.
        producer.setMqClientApiTimeout(60_000);
        producer.start();
        Runtime.getRuntime().addShutdownHook(new Thread(Producer::stop));
        System.out.println("READY");
        for (int n = 0; n < count && !asked.await(pauseMillis, TimeUnit.MILLISECONDS); n++) {
            System.out.println(send(producer, args[1].replace("*", Integer.toString(n)), n));
        }
        System.out.println("DONE");
        done.countDown();
        producer.shutdown();
    }

    private static String send(DefaultMQProducer producer, String topic, int n) {
        try {
            SendResult result = producer.send(new Message(topic, Integer.toString(n).getBytes(StandardCharsets.UTF_8)));
            boolean ok = result.getSendStatus() == SendStatus.SEND_OK;
            return ok ? "SENT " + where(result) + n : "FAILED " + n + " " + result.getSendStatus();
        } catch (Exception e) {
            return "FAILED " + n + " " + e.toString().replace('\n', ' ');
        }
    }

    private static String where(SendResult result) {
        MessageQueue queue = result.getMessageQueue();
        boolean told = Boolean.getBoolean("interop.tellQueues");
        return told ? System.currentTimeMillis() + " " + queue.getBrokerName() + ":" + queue.getQueueId() + " " : "";
    }

    private static void stop() {
        asked.countDown();
        try {
            done.await(15, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
