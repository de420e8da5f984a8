import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends the numbers 0, 1, 2 … in transactions: n modulo 3 is 0 for committed at once, 1 for rolled back, 2 for unknown
 * until the broker asks, then committed. Arguments: name servers, topic, how many, (not used).
 * Prints READY, COMMIT_MESSAGE n, ROLLBACK_MESSAGE n or UNKNOW n for each, DONE, and CHECKED n whenever it was asked;
 * it stays to be asked until SIGTERM.
 */
public class TransactionProducer implements TransactionListener {
    private static final LocalTransactionState[] STATES = {
        LocalTransactionState.COMMIT_MESSAGE, LocalTransactionState.ROLLBACK_MESSAGE, LocalTransactionState.UNKNOW
    };

    public static void main(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("interop-transaction-producer");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(60_000);
        producer.setMqClientApiTimeout(60_000);
        producer.setTransactionListener(new TransactionProducer());
        producer.start();
        System.out.println("READY");
        for (int n = 0; n < Integer.parseInt(args[2]); n++) {
            Message message = new Message(args[1], Integer.toString(n).getBytes(StandardCharsets.UTF_8));
            TransactionSendResult result = producer.sendMessageInTransaction(message, n);
            System.out.println(result.getLocalTransactionState() + " " + n);
        }
        System.out.println("DONE");
        new CountDownLatch(1).await();
    }

    @Override
    public LocalTransactionState executeLocalTransaction(Message message, Object number) {
        return STATES[(int) number % STATES.length];
    }

    @Override
    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        System.out.println("CHECKED " + new String(message.getBody(), StandardCharsets.UTF_8));
        return LocalTransactionState.COMMIT_MESSAGE;
    }
}
